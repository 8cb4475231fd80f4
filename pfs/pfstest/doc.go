// Package pfstest is the conformance suite of package pfs: one check for every
// promise of its documentation. An implementation, a decorator or a client is
// done when
//
//	pfstest.Run(t, pfstest.Options{New: func(t *testing.T) pfs.FileSystem { ... }})
//
// passes on it. What a store cannot do is declared as a [Gap], and the suite then
// checks that the store says so and does not do it badly.
//
// The names of the subtests are the promises. The helpers for tests of other
// packages (WriteFile, ReadFile, ...) fail the test that calls them.
//
// # Files
//
//	suite, options, want             Run and a check's surroundings; what is tested, and lacks; what checks demand
//	files, content, forgetful        for tests of other packages too: files, their bytes, a store that loses them
//	operation                        all operations on a path, for what holds for each of them
//	path, error, cancel, concurrent  what holds for all: names, kinds of errors, contexts, many at once
//	read, list, mkdir, rename,       reading and the tree
//	remove, link
//	stage, commit, resume, leaf      staged writes: before they are published, then, and when they go on
//	handle, handlemodel, nodes       files open for changes; attributes, hard links, special files
//	attribute, batch, copy, usage,   other capabilities
//	loosequota, locate, owner
//	capabilities                     what a store says that it can do, against what it does
//	gap                              what a store says of what it lacks
package pfstest
