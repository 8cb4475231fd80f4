package aferofs_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/aferofs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/spf13/afero"
)

// largeDir makes a directory of many pages.
func largeDir(t *testing.T, afs afero.Fs) (names []string) {
	t.Helper()
	if err := afs.Mkdir("/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		name := fmt.Sprintf("%05d", i)
		f, err := afs.Create("/dir/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		names = append(names, name)
	}
	return names
}

// shuffled reads directories in no order, some names at a time, as a disk does.
type shuffled struct{ afero.Fs }

func (s shuffled) Open(name string) (afero.File, error) {
	f, err := s.Fs.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return f, err
	}
	names, err := f.Readdirnames(-1)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return &shuffledDir{f, names}, err
}

type shuffledDir struct {
	afero.File
	names []string
}

func (d *shuffledDir) Readdirnames(n int) (some []string, err error) {
	if len(d.names) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.names))
	some, d.names = d.names[:n], d.names[n:]
	return some, nil
}

// listFrom lists dir from a token on, and returns the names and the second token.
func listFrom(t *testing.T, fsys pfs.FileSystem, dir pfs.Path, token string) (names []string, second string) {
	t.Helper()
	for n := 0; ; n++ {
		page, err := fsys.List(t.Context(), dir, pfs.ListOptions{Token: token, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			names = append(names, e.Name)
		}
		if n == 1 {
			second = page.Next
		}
		if page.Next == "" {
			return names, second
		}
		token = page.Next
	}
}

func TestListIsSortedAndItsTokensLast(t *testing.T) {
	afs := shuffled{afero.NewMemMapFs()}
	want := largeDir(t, afs)
	fsys := aferofs.Store(afs)
	got, second := listFrom(t, fsys, "/dir", "")
	if !slices.Equal(got, want) {
		t.Fatalf("%d names, want %d, sorted", len(got), len(want))
	}
	for _, again := range []pfs.FileSystem{fsys, aferofs.Store(afs)} {
		if got, _ := listFrom(t, again, "/dir", second); !slices.Equal(got, want[2000:]) {
			t.Errorf("from the second token again: %d names, want %d", len(got), len(want)-2000)
		}
	}
}

func TestListSeesWhatCameBeforeIt(t *testing.T) {
	fsys := aferofs.Store(afero.NewMemMapFs())
	for _, name := range []pfs.Path{"/a", "/b", "/d"} {
		pfstest.WriteFile(t, fsys, name, nil)
	}
	if _, err := fsys.List(t.Context(), "/", pfs.ListOptions{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, fsys, "/c", nil)
	pfstest.WantNames(t, fsys, "/", "a", "b", "c", "d")
}

func TestListNamesWhatCannotBeNamed(t *testing.T) {
	root := t.TempDir()
	bad := "bad\xffname"
	if err := os.WriteFile(filepath.Join(root, bad), nil, 0o600); err != nil {
		t.Skip("the file system of the tests refuses such names: ", err)
	}
	fsys := aferofs.Store(afero.NewBasePathFs(afero.NewOsFs(), root))
	pfstest.WriteFile(t, fsys, "/good", nil)
	page, err := fsys.List(t.Context(), "/", pfs.ListOptions{})
	if err != nil || len(page.Entries) != 1 || !slices.Equal(page.Unnamed, []string{`"bad\xffname"`}) {
		t.Errorf("List = %+v, %v, want one entry and one that cannot be named", page, err)
	}
	if err := fsys.Remove(t.Context(), "/good"); err != nil {
		t.Fatal(err)
	}
	first, err := fsys.List(t.Context(), "/", pfs.ListOptions{Limit: 1})
	if err != nil || len(first.Unnamed) != 1 {
		t.Errorf("List of one = %+v, %v", first, err)
	}
}
