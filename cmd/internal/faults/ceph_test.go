//go:build ceph

package faults

import "testing"

// tags are the build tags of the programs.
const tags = "ceph"

// needCeph skips a test whose service needs a CephFS, if the programs have none.
func needCeph(*testing.T) {}
