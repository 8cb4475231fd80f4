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
package pfstest
