// Package testbed gives tests real stores on loopback: an HDFS as HDFS, HDFSPair or
// HDFSSecure has it, and a CephFS.
//
// # One cluster of each sort
//
// The packages of a test run share them: the first test that asks starts one, by the
// scripts of testdata/testbed. A cluster goes down by itself when nobody has used it for
// a while, by "make testbed-down", and at the end of "make test", whose clusters are its
// own: they are in the directory that PFS_TESTBED_DIR names.
//
// # Tests that break something
//
// A test that kills daemons asks for a cluster alone (HDFSAlone, CephAlone). It waits
// until no other test, of any package, uses it, and others wait until it has ended; what
// was broken is mended then. A test that needs clusters of two sorts asks for the HDFS
// first, and a test that holds a cluster does not ask for it again: so nobody waits for
// each other.
//
// # Where none can run
//
// Tests are skipped with the reason; with CI=true in the environment they fail. Where
// PFS_TESTBED_REPORT names a directory it gets a file for each sort that a test asked
// for, with a line "ran PACKAGE" or "cannot REASON" for each time.
package testbed
