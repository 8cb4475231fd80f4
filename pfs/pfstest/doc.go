// Package pfstest is the conformance suite of package pfs: one check for every promise of its
// documentation. An implementation, a decorator or a client is complete when
//
//	pfstest.Run(t, pfstest.Options{New: func(t *testing.T) pfs.FileSystem { ... }})
//
// passes on it. An operation that a store cannot do is declared as a [Gap]. The suite then checks that
// the store refuses the operation and changes nothing.
//
// The names of the subtests are the promises. The helpers for tests of other
// packages (WriteFile, ReadFile, ...) fail the test that calls them.
//
// # Files
//
//	suite, options, want             Run and the environment of a check; the options of a run; helpers of checks
//	files, content, forgetful        for tests of other packages too: files, their bytes, a store that loses them
//	hostile                          paths that attack gateways, for their tests
//	operation                        all operations on a path, for the rules that they share
//	path, error, cancel, concurrent  these rules: names, Kinds of errors, contexts, concurrency
//	read, list, mkdir, rename,       reading and the tree
//	remove, link
//	stage, commit, resume, leaf      uploads: before the commit, the commit, resuming
//	handle, handlemodel, nodes       files open for changes; attributes, hard links, special files
//	attribute, batch, copy, usage,   other capabilities
//	loosequota, locate, owner
//	capabilities                     compares the reported capabilities of a store with its operations
//	gap                              the required answers of a store for its gaps
package pfstest
