//go:build ceph

package faults

import "testing"

// tags are those with which the programs are built.
const tags = "ceph"

// needCeph ends a test whose service has a CephFS, if the programs have none.
func needCeph(*testing.T) {}
