"""Recordings: the device work of a compiled graph, recorded once as a graph of the device and started again by one call.

What is guaranteed.  With recordings a program has eager's values, raises eager's errors and no others, and needs no call of the user: no step is marked and
nothing is cloned.  What cannot be recorded, or not this time, runs as without recordings, and an event says why.

Why it holds.  A recording writes to fixed memory, reads fixed addresses, and has the kernels that were chosen when it was made.  So three things could go
wrong, and all are looked at in each call, on what is at hand, with no assumption about the order of calls:

1. *It would overwrite something that somebody still sees.*  Each recording has memory of its own, in which nothing else is placed.  Of that only its results
   are ever seen outside.  The recording holds their storages, and what it gives out are other tensors on the same storages.  A use count above the
   recording's own says that one is alive: in a variable, a list, a view, a graph of autograd, a gradient of a parameter, an argument of this very call.
   Then it is not started: another recording of the same graph is, or a new one is made, or the graph runs without recordings.  Memory that is seen is
   never written to, whoever keeps it for however long, and when the recording is dropped its results stay valid, since storages own their memory.
2. *It would read something else than its arguments.*  Each argument is at the address that was recorded, or its new address is patched into the kernels that
   read it, or its elements are copied into memory of the recording.  What comes out of another recording, such as all that a forward keeps for its
   backward, has few addresses, so a backward has a recording for each recording of the forward: the tree of recordings by the path of execution is what
   these addresses make of it.
3. *It would compute otherwise than the library is told to now.*  Precisions, the libraries that are used and their determinism are part of what a call looks
   its recordings up by.

What a user keeps (a loss, the outputs of a few steps) is learned: a result that was found alive when its recording was wanted again is copied out from then on
where that is cheap, else the graph gets a second recording to alternate with.

`device` is what a device has to offer, `simulated` a device in the memory of the CPU, on which tests run, `cuda` the real one.  `facts` reads off a host
program what a recording has to know, `memory` holds results and tells who sees them, `recording` is one recording, `family` the recordings of one graph for
one set of sizes and the choice between them, `program` what is called instead of the graph, `table` all of them in this process.  `measure` finds
whether recording pays, `automatic` is a program that is recorded where it does, as in the default mode.  `split` cuts a host program around what
cannot be recorded, and `parts` runs what that gives.
"""
