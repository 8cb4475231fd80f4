package namespace

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestOldSpelling(t *testing.T) {
	rows := []struct{ name, meant pfs.Path }{
		{"/pfs/dc/user/alice/f", "/pfs/dc/home/alice/f"},
		{"/pfs/dc/user", "/pfs/dc/home"},
		{"/pfs/dc/user/user/user", "/pfs/dc/home/user/user"},
		{"/pfs/dc/home/user", "/pfs/dc/home/user"},
		{"/pfs/dc/users", "/pfs/dc/users"},
		{"/pfs/public/user/x", "/pfs/public/user/x"},
		{"/pfs/dc", "/pfs/dc"},
		{"/pfs", "/pfs"},
		{"/", "/"},
		{"/x/dc/user", "/x/dc/user"},
	}
	for _, row := range rows {
		if got := modern(row.name); got != row.meant {
			t.Errorf("modern(%s) = %s, want %s", row.name, got, row.meant)
		}
	}
}
