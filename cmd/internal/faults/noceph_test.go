//go:build !ceph

package faults

import "testing"

// tags are those with which the programs are built: their tests were built without any.
const tags = ""

// needCeph ends a test whose service has a CephFS.
func needCeph(t *testing.T) { t.Skip("built without the tag ceph") }
