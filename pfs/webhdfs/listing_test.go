package webhdfs_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/webhdfs"
)

type status struct {
	PathSuffix string
	Type       string
}

// TestLongListings lists more entries than a page holds, whole and in batches, at one replica and at two in turn.
func TestLongListings(t *testing.T) {
	dir := t.TempDir()
	store, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := gatewaytest.New(t, store)
	cfg := webhdfs.Config{TrustUserName: true, Root: "/pfs/dc/home/{user}"}
	g, replica := serve(t, s, cfg), serve(t, s.Replica(t), cfg)
	g.must(t, "PUT", "/d", "op=MKDIRS", "")
	const count = pfs.MaxPage + 1500
	var want []string
	for i := range count {
		name := fmt.Sprintf("f%05d", i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, "home", alice, "d", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var all struct {
		FileStatuses struct{ FileStatus []status }
	}
	decode(t, g.must(t, "GET", "/d", "op=LISTSTATUS", ""), &all)
	check := func(what string, list []status) {
		t.Helper()
		var got []string
		for _, f := range list {
			got = append(got, f.PathSuffix)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d entries, want %d", what, len(got), len(want))
		}
	}
	check("LISTSTATUS", all.FileStatuses.FileStatus)
	for what, gates := range map[string][]*gate{"one replica": {g}, "two replicas": {g, replica}} {
		var list []status
		after, calls := "", 0
		for more := true; more; calls++ {
			var a struct {
				DirectoryListing struct {
					PartialListing struct {
						FileStatuses struct{ FileStatus []status }
					}
					RemainingEntries int
				}
			}
			decode(t, gates[calls%len(gates)].must(t, "GET", "/d", "op=LISTSTATUS_BATCH&startAfter="+url.QueryEscape(after), ""), &a)
			page := a.DirectoryListing.PartialListing.FileStatuses.FileStatus
			list = append(list, page...)
			if more = a.DirectoryListing.RemainingEntries > 0; more {
				after = page[len(page)-1].PathSuffix
			}
		}
		check(what, list)
		if calls < count/1000 {
			t.Errorf("%s: %d batches", what, calls)
		}
	}
	if status, answer := g.ask(t, "GET", "/d", "op=LISTSTATUS_BATCH&startAfter=gone", ""); status != 403 || exceptionOf(answer) != "ConcurrentModificationException" {
		t.Errorf("after an entry that is not there: %d %.300s", status, answer)
	}
}
