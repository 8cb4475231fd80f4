//go:build ceph

package main

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestHadoopShellOnCephFS runs Hadoop's own shell on a gateway over a CephFS.
func TestHadoopShellOnCephFS(t *testing.T) {
	testbed.Long(t)
	hdfs := testbed.HDFS(t)
	hadoopScene(t, hdfs, datacenters(cephStore(t)))
}
