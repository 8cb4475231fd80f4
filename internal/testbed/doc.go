// Package testbed gives tests real stores on loopback: an HDFS, as HDFS, HDFSPair or HDFSSecure
// describes it, and a CephFS; a Kubernetes cluster of one node, and a browser; and several pfsd
// that they can kill, behind a load balancer.
//
// # One cluster of each kind
//
// The packages of a test run share the clusters. The first test that needs one starts it with
// the scripts of testdata/testbed. A cluster stops when it has been unused for a while, or by
// "make testbed-down". "make test" has its own clusters, in the directory that PFS_TESTBED_DIR
// names, and stops them at its end.
//
// # Tests that break something
//
// A test that kills daemons takes a cluster alone (HDFSAlone, CephAlone). It waits until no
// other test, of any package, uses the cluster, and the others wait until it has ended; then
// the cluster is repaired. To avoid deadlocks, a test that needs clusters of two kinds takes
// the HDFS first, and a test does not take a cluster twice.
//
// # Tests that measure memory
//
// A test that bounds the memory of its process runs in a process of its own (InOwnProcess),
// beside other tests.
//
// # Machines without clusters
//
// Tests whose cluster, Posix programs or Chromium are missing are skipped with the reason; with
// CI=true in the environment they fail. If PFS_TESTBED_REPORT names a directory, it gets a file for
// each kind that a test needed, with a line "ran PACKAGE" or "cannot REASON" for each time.
package testbed
