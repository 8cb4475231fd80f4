package pfstest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var listPromises = []promise{
	{says: "an empty directory has no entries", needs: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		page, err := e.fs.List(e.ctx, "/dir", pfs.ListOptions{})
		e.ok(err)
		if len(page.Entries) != 0 || len(page.Unnamed) != 0 {
			e.Errorf("page of an empty directory is %+v", page)
		}
	}},
	{says: "entries are described as Stat does", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		WriteFile(e, e.fs, "/dir/sub/f", nil)
		WriteFileWith(e, e.fs, "/dir/file", Pattern(1, 777), pfs.CommitOptions{Mode: 0o600, ModTime: time.Unix(1e9, 0)})
		want := []string{"file", "sub"}
		if !e.lacks(NoSymlink) {
			MustLink(e, e.fs, "../elsewhere", "/dir/link")
			want = []string{"file", "link", "sub"}
		}
		WantNames(e, e.fs, "/dir", want...)
		page, err := e.fs.List(e.ctx, "/dir", pfs.ListOptions{Attrs: true})
		e.ok(err)
		for _, got := range page.Entries {
			info := MustStat(e, e.fs, pfs.Path("/dir").Join(got.Name))
			if got.Version == "" {
				info.Version = "" // a listing may leave it out
			}
			if got.Digest == "" {
				info.Digest = ""
			}
			if got.Links == 0 {
				info.Links = 0
			}
			if got.BlockSize == 0 && got.Replication == 0 {
				info.BlockSize, info.Replication = 0, 0
			}
			e.sameInfo("the entry "+got.Name, got, info)
			if info.IsDir() && info.Size != 0 {
				e.Errorf("size of a directory = %d", info.Size)
			}
		}
	}},
	{says: "stored digests are listed on request", needs: NoKeptDigest, check: func(e *env) {
		const n = 5
		MustMkdir(e, e.fs, "/dir/sub")
		WriteFile(e, e.fs, "/dir/sub/f", nil)
		for i := range n {
			data := Pattern(uint64(i), 100+i)
			WriteFileWith(e, e.fs, pfs.Path(fmt.Sprintf("/dir/f%d", i)), data, pfs.CommitOptions{Digest: digest.Bytes(data)})
		}
		WriteFileWith(e, e.fs, "/dir/unknown", Pattern(9, 9), pfs.CommitOptions{})
		opts := pfs.ListOptions{Limit: 2, Digests: true}
		listed := 0
		for more := true; more; more = opts.Token != "" {
			page, err := e.fs.List(e.ctx, "/dir", opts)
			e.ok(err)
			for _, info := range page.Entries {
				listed++
				if want := MustStat(e, e.fs, pfs.Path("/dir").Join(info.Name)).Digest; info.Digest != want {
					e.Errorf("%s is listed with the digest %q, Stat has %q", info.Name, info.Digest, want)
				}
			}
			opts.Token = page.Next
		}
		if listed != n+2 {
			e.Errorf("%d entries, want %d", listed, n+2)
		}
	}},
	{says: "pages of any Limit give every entry exactly once", needs: NoEmptyDir, check: func(e *env) {
		const n = 100
		for _, name := range numbered("dir-", n/2) {
			MustMkdir(e, e.fs, pfs.Path("/dir").Join(name))
		}
		e.fillDir("/dir", "file-", n/2)
		for _, limit := range []int{1, 2, 3, 7, 50, 99, 100, 101, 102, 1000, pfs.MaxPage, pfs.MaxPage + 1, 0} {
			seen := e.listed("/dir", limit)
			if len(seen) != n {
				e.Errorf("limit %d: %d entries, want %d", limit, len(seen), n)
			}
			for name, times := range seen {
				if times != 1 {
					e.Errorf("limit %d: %s is listed %d times", limit, name, times)
				}
			}
		}
	}},
	{says: "a token can be used again", check: func(e *env) {
		e.fillDir("/", "entry-", 10)
		first, err := e.fs.List(e.ctx, pfs.Root, pfs.ListOptions{Limit: 4})
		e.ok(err)
		var pages [2]pfs.Page
		for i := range pages {
			pages[i], err = e.fs.List(e.ctx, pfs.Root, pfs.ListOptions{Limit: 4, Token: first.Next})
			e.ok(err)
		}
		same := slices.EqualFunc(pages[0].Entries, pages[1].Entries, func(a, b pfs.Info) bool { return a.Name == b.Name })
		if first.Next == "" || !same {
			e.Errorf("token %q gives %+v, then %+v", first.Next, pages[0], pages[1])
		}
	}},
	{says: "an invalid token answers Conflict or Invalid, or is harmless", check: func(e *env) {
		e.fillDir("/", "entry-", 3)
		for _, token := range []string{"0", "nonsense", "\x00\xff", "-1", "../..", "99999999999999999999999999", strings.Repeat("z", 10_000)} {
			_, err := e.fs.List(e.ctx, pfs.Root, pfs.ListOptions{Token: token})
			if err != nil && !errors.Is(err, pfs.Conflict) && !errors.Is(err, pfs.Invalid) {
				e.Errorf("token %.20q: %v, want Conflict, Invalid or a page", token, err)
			}
		}
	}},
	{says: "temporaries are hidden", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		for i := range 5 {
			w := e.stage(pfs.Root.Join(fmt.Sprint("staged-", i)), pfs.CreateOptions{}, Pattern(1, 1000))
			e.ok(w.Sync(e.ctx))
		}
		for _, limit := range []int{1, 2, 0} {
			if seen := e.listed(pfs.Root, limit); len(seen) != 1 || seen["f"] != 1 {
				e.Errorf("limit %d: entries %v, want f alone", limit, seen)
			}
		}
	}},
	// Meanwhile another goroutine makes, replaces and removes names between those that stay. A replaced
	// file may be listed twice.
	{says: "an entry that exists the whole time is listed once, whatever else changes", check: func(e *env) {
		const stay = 300
		MustMkdir(e, e.fs, "/dir")
		e.fillDir("/dir", "stay-", stay)
		e.fillDir("/dir", "state-", replaced)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { e.churn("/dir", stop) })
		for round := range 10 {
			seen := e.listed("/dir", 11+round*13)
			for _, name := range numbered("stay-", stay) {
				if seen[name] != 1 {
					e.Errorf("round %d: %s was there all the time and is listed %d times", round, name, seen[name])
				}
			}
			for _, name := range numbered("state-", replaced) {
				if seen[name] == 0 {
					e.Errorf("round %d: %s was replaced and is not listed", round, name)
				}
			}
		}
		close(stop)
		wg.Wait()
	}},
	{says: "entries may be removed while they are listed", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		e.fillDir("/dir", "entry-", 50)
		removed := map[string]bool{}
		e.pages("/dir", 7, func() {}, func(page pfs.Page) {
			for _, info := range page.Entries {
				if removed[info.Name] {
					e.Errorf("%s is listed after it was removed", info.Name)
				}
				removed[info.Name] = true
				e.ok(e.fs.Remove(e.ctx, pfs.Path("/dir").Join(info.Name)))
			}
		})
		if len(removed) != 50 {
			e.Errorf("%d entries were listed, want 50", len(removed))
		}
		if !e.lacks(NoEmptyDir) {
			e.ok(e.fs.Remove(e.ctx, "/dir"))
		}
	}},
	// The memory allowed is that of a few pages, far less than the names alone need.
	{says: "a large directory is listed in bounded memory", alone: true, check: func(e *env) {
		const allowed = 8 << 20
		n := e.opts.names()
		if testing.Short() {
			n = min(n, 10_000)
		}
		prefix := strings.Repeat("a-long-name-", 8)
		MustMkdir(e, e.fs, "/dir")
		e.fillDir("/dir", prefix, n)
		for _, limit := range []int{0, pfs.MaxPage + 1, n} {
			page, err := e.fs.List(e.ctx, "/dir", pfs.ListOptions{Limit: limit})
			e.ok(err)
			if len(page.Entries) > pfs.MaxPage {
				e.Errorf("limit %d: page of %d entries", limit, len(page.Entries))
			}
		}
		base := heap()
		count, pages, sum := 0, 0, 0
		e.pages("/dir", 1000, func() { count, sum = 0, 0 }, func(page pfs.Page) {
			for _, info := range page.Entries {
				count++
				var i int
				fmt.Sscanf(info.Name[len(prefix):], "%d", &i)
				sum += i
			}
			if pages++; pages%20 == 0 {
				if grown := heap() - base; grown > allowed {
					e.Fatalf("the heap grew by %d bytes while %d of %d entries were listed", grown, count, n)
				}
			}
		})
		if want := n * (n - 1) / 2; count != n || sum != want {
			e.Errorf("%d entries that sum to %d, want %d and %d", count, sum, n, want)
		}
	}},
}

// pages lists dir in pages of limit entries and passes each to see. If a token becomes invalid, it
// calls restart and starts again.
func (e *env) pages(dir pfs.Path, limit int, restart func(), see func(page pfs.Page)) {
	e.Helper()
	for token, tries := "", 0; ; {
		page, err := e.fs.List(e.ctx, dir, pfs.ListOptions{Token: token, Limit: limit})
		if errors.Is(err, pfs.Conflict) && token != "" && tries < 100 {
			tries++
			token = ""
			restart()
			continue
		}
		e.ok(err)
		if most := pageLimit(limit); len(page.Entries) > most {
			e.Fatalf("page of %d entries, the limit is %d", len(page.Entries), most)
		}
		see(page)
		if page.Next == "" {
			return
		}
		token = page.Next
	}
}

// pageLimit is the largest page that ListOptions.Limit allows.
func pageLimit(limit int) int {
	if limit == 0 || limit > pfs.MaxPage {
		return pfs.MaxPage
	}
	return limit
}

// listed returns how often each name is listed in pages of limit.
func (e *env) listed(dir pfs.Path, limit int) map[string]int {
	e.Helper()
	seen := map[string]int{}
	e.pages(dir, limit, func() { clear(seen) }, func(page pfs.Page) {
		for _, info := range page.Entries {
			seen[info.Name]++
		}
	})
	return seen
}

// fillDir makes n empty files in dir, whose names begin with prefix.
func (e *env) fillDir(dir pfs.Path, prefix string, n int) {
	e.Helper()
	for names := range slices.Chunk(numbered(prefix, n), 1000) {
		batch := make([]pfs.BatchEntry, len(names))
		for i, name := range names {
			batch[i].Path = dir.Join(name)
		}
		for _, err := range pfs.WriteBatch(e.ctx, e.fs, batch) {
			e.ok(err)
		}
	}
}

// numbered returns n names, the greatest first.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%07d", prefix, n-1-i)
	}
	return names
}

// replaced is the number of files that churn replaces.
const replaced = 20

// churn makes, renames, replaces and removes entries of dir until stop is closed.
func (e *env) churn(dir pfs.Path, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		a, b := dir.Join(fmt.Sprintf("st-%d", i%40)), dir.Join(fmt.Sprintf("stay-x%d", i%40))
		c := dir.Join(numbered("state-", replaced)[i%replaced])
		err := errors.Join(pfs.WriteBatch(e.ctx, e.fs, []pfs.BatchEntry{{Path: a}, {Path: c}})...)
		if err == nil {
			err = e.fs.Rename(e.ctx, a, b)
		}
		if err == nil && i%3 == 0 {
			err = e.fs.Remove(e.ctx, b)
		}
		if err != nil {
			e.Error(detail(err))
			return
		}
	}
}

// heap returns the bytes in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
