// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'kernel' is the SHA-256 of a kernel in hexadecimal, got 'softmax'}}
tuning.record @not_a_kernel {kernel = "softmax", device = "NVIDIA H200", choices = {warps = 4}}

// -----

// expected-error @+1 {{'device' is the name of a device}}
tuning.record @no_device {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "", choices = {warps = 4}}

// -----

// expected-error @+1 {{'choices' are tiles, warps, stages, product, fused, parts}}
tuning.record @nothing_chosen {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {}}

// -----

// expected-error @+1 {{there is no choice 'wraps'; choices are tiles, warps, stages, product, fused, parts}}
tuning.record @misspelt {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {wraps = 4}}

// -----

// expected-error @+1 {{the choice 'warps' is warps of a program, a power of two up to 32, got 3}}
tuning.record @three_warps {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {warps = 3}}

// -----

// expected-error @+1 {{the choice 'stages' is steps that a loop over a product reads ahead, from 1 to 8, got 0}}
tuning.record @no_stage {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {stages = 0}}

// -----

// expected-error @+1 {{the choice 'tiles' is how a nest is cut, a #kernel.tiles<...>, got 128}}
tuning.record @tiles_are_a_number {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {tiles = 128}}

// -----

// expected-error @+1 {{the choice 'product' is who multiplies, library or own, got cublas}}
tuning.record @an_unknown_library {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {product = "cublas"}}

// -----

// expected-error @+1 {{'measured' are pairs of choices and microseconds, got ({'warps': 4},)}}
tuning.record @no_time {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {warps = 4}, measured = [[{warps = 4}]]}

// -----

// expected-error @+1 {{the choice 'parts' is parts of the sums of an own product that programs of their own add up, a power of two up to 16, got 32}}
tuning.record @many_parts {kernel = "380f5ea74006f023d5bcacc0d401a59c23bb471cf6d6aed39bee98647b37d20e", device = "NVIDIA H200", choices = {product = "own", parts = 32}}

// -----

// expected-error@+1 {{the choice 'fused' is whether a nest joins the one that reads it, true or false, got 1}}
tuning.record @a {kernel = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", device = "cpu", choices = {fused = 1}}
