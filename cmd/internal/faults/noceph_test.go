//go:build !ceph

package faults

import "testing"

// tags are the build tags of the programs: none.
const tags = ""

// needCeph skips a test whose service needs a CephFS.
func needCeph(t *testing.T) { t.Skip("built without the tag ceph") }
