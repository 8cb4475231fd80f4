package wire

import (
	"math"
	"strings"
	"testing"
)

// TestEncodedBound encodes messages whose fields all have their maximum length.
func TestEncodedBound(t *testing.T) {
	long := strings.Repeat("x", math.MaxUint16+1) // of the longest prefix
	when := Time{math.MinInt64, math.MinInt64}
	info := Info{
		Name: long, Size: math.MinInt64, Mode: math.MaxUint32, Time: when,
		Owner: long, Group: long, Target: long, Version: long, Digest: long,
		ID: math.MaxUint64, Links: math.MaxUint32, UID: math.MaxUint32, GID: math.MaxUint32,
		ChangeTime: &when, AccessTime: &when, Replication: math.MinInt, BlockSize: math.MinInt64, Device: math.MaxUint64,
	}
	page := ListReply{Next: long}
	for range maxItems {
		page.Entries = append(page.Entries, Info{})
		page.Unnamed = append(page.Unnamed, "")
	}
	page.Entries[0], page.Unnamed[0] = info, long
	for _, m := range []interface{ EncodedBound() int }{
		info, Info{}, page, ListReply{},
		BatchEntry{Path: long, Mode: math.MaxUint32, Time: &when, Size: math.MinInt64, Digest: long, NoReplace: true},
		ReadFile{Path: long, Size: math.MinInt64},
		ReadRange{Path: long, Version: long, Off: math.MinInt64, Size: math.MinInt64},
		CopyFile{Source: long, Target: long, Size: math.MinInt64, NoReplace: true, NewTime: true},
	} {
		if got, bound := len(Encode(m)), m.EncodedBound(); got > bound {
			t.Errorf("%T is encoded in %d bytes, its bound is %d", m, got, bound)
		}
	}
}
