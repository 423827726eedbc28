// Expectations that are not met.
// expected-error @+1 {{something else}}
a.b()

// -----

// On the wrong line.
// expected-error {{unknown dialect}}

// -----

// expected-remark @+1 {{nothing}}
builtin.module @m {}

// -----

// expected-error [[unknown dialect]]
