package web

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestFair measures a page of bob while alice downloads archives and reads listings without a pause.
func TestFair(t *testing.T) {
	testbed.Long(t)
	store, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, store)
	tree := s.tree(t, gatewaytest.Alice)
	pfstest.MustMkdir(t, tree, home("many"))
	for i := range 3000 {
		pfstest.WriteFile(t, tree, home("many", fmt.Sprintf("f%04d", i)), nil)
	}
	for i := range 8 {
		pfstest.WriteFile(t, tree, home(fmt.Sprintf("big%d", i)), make([]byte, 32<<20))
	}
	name := gatewaytest.Home(gatewaytest.Bob).Join("f")
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Bob), name, []byte("x"))
	s.login(t, gatewaytest.Alice)

	bob := &site{Service: s.Service}
	bob.serve(t)
	bob.login(t, gatewaytest.Bob)
	measure := func() time.Duration {
		var took []time.Duration
		for range 100 {
			began := time.Now()
			bob.get(t, address("files", name)).want(t, http.StatusOK)
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	alone := measure()
	stop := make(chan struct{})
	var work sync.WaitGroup
	cookies := s.client.Jar.Cookies(nil)
	for i := range 16 {
		page := address("files", home("many"))
		if i < archivesOfUser {
			page = address("zip", home())
		}
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.web.URL+page, nil)
				if err != nil {
					return
				}
				for _, c := range cookies {
					r.AddCookie(c)
				}
				if got, err := s.web.Client().Transport.RoundTrip(r); err == nil {
					_, _ = io.Copy(io.Discard, got.Body)
					got.Body.Close()
				}
			}
		})
	}
	time.Sleep(time.Second)
	beside := measure()
	close(stop)
	work.Wait()
	t.Logf("a page takes %v alone and %v beside the archives and listings of another user", alone, beside)
	if beside > 60*alone+200*time.Millisecond {
		t.Errorf("a page takes %v beside the archives and listings of another user, %v alone", beside, alone)
	}
}

// TestMillion reads pages of a folder with a million files.
func TestMillion(t *testing.T) {
	testbed.Long(t)
	dir := t.TempDir()
	store, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, store)
	s.login(t, gatewaytest.Alice)
	pfstest.MustMkdir(t, s.tree(t, gatewaytest.Alice), home("many"))
	found, err := filepath.Glob(filepath.Join(dir, "*", gatewaytest.Alice, "many"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the folder on the disk: %q, %v", found, err)
	}
	const n = 1_000_000
	for i := range n {
		if err := os.WriteFile(filepath.Join(found[0], fmt.Sprintf("f%07d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	following := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	next, longest := address("files", home("many")), time.Duration(0)
	for i := range 200 {
		began := time.Now()
		page := s.get(t, next).want(t, http.StatusOK)
		longest = max(longest, time.Since(began))
		m := following.FindStringSubmatch(page.body)
		if m == nil || strings.Count(page.body, `class="plain"`) > rows {
			t.Fatalf("page %d has %d entries and no next page", i, strings.Count(page.body, `class="plain"`))
		}
		next = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	t.Logf("the slowest of 200 pages took %v", longest)
	if longest > 10*time.Second {
		t.Errorf("the slowest of 200 pages took %v", longest)
	}
	if got := s.get(t, address("zip", home("many"))); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("an archive of a million files: %s", got.Status)
	}
}
