package client_test

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// attributed is a store that records its calls about attributes.
type attributed struct {
	pfs.FileSystem
	asked string
}

func (s *attributed) note(args ...any) error {
	s.asked = strings.TrimSpace(fmt.Sprintln(args...))
	return nil
}

func (s *attributed) SetAttr(_ context.Context, name pfs.Path, mask pfs.AttrMask, a pfs.Attrs) error {
	a.ModTime, a.AccessTime = a.ModTime.UTC(), a.AccessTime.UTC()
	return s.note("SetAttr", name, mask, a)
}
func (s *attributed) Xattr(_ context.Context, name pfs.Path, attr string) ([]byte, error) {
	return []byte("value"), s.note("Xattr", name, attr)
}
func (s *attributed) SetXattr(_ context.Context, name pfs.Path, attr string, v []byte, f pfs.XattrFlags) error {
	return s.note("SetXattr", name, attr, len(v), f)
}
func (s *attributed) ListXattr(_ context.Context, name pfs.Path) ([]string, error) {
	return []string{"user.a", "user.b"}, s.note("ListXattr", name)
}
func (s *attributed) RemoveXattr(_ context.Context, name pfs.Path, attr string) error {
	return s.note("RemoveXattr", name, attr)
}
func (s *attributed) HardLink(_ context.Context, o, n pfs.Path) error {
	return s.note("HardLink", o, n)
}
func (s *attributed) Mknod(_ context.Context, name pfs.Path, mode fs.FileMode, device uint64) error {
	return s.note("Mknod", name, mode, device)
}
func (s *attributed) Concat(_ context.Context, target pfs.Path, sources []pfs.Path) error {
	return s.note("Concat", target, sources)
}
func (s *attributed) Capabilities(_ context.Context, name pfs.Path) (pfs.Capabilities, error) {
	return pfs.CanXattr | pfs.CanLocateBlocks, s.note("Capabilities", name)
}
func (s *attributed) Digest(_ context.Context, name pfs.Path, algorithm string, _ func(int64)) (string, error) {
	return algorithm + ":00", s.note("Digest", name, algorithm)
}
func (s *attributed) BlockLocations(_ context.Context, _ pfs.Path, off, n int64) (blocks []pfs.BlockLocation, err error) {
	for ; n > 0; off, n = off+1, n-1 {
		blocks = append(blocks, pfs.BlockLocation{Offset: off, Length: 1, Hosts: []string{"a", "b"}})
	}
	return blocks, nil
}

// TestAttributesCrossTheWire checks that requests reach the store, and its answers the client.
func TestAttributesCrossTheWire(t *testing.T) {
	store := &attributed{FileSystem: memfs.New(memfs.Options{})}
	s := serve(t, store)
	c := s.connect(t, s.URL)
	ctx := t.Context()
	at := time.Unix(1e9, 5).UTC()
	attrs := pfs.Attrs{Mode: 0o640 | fs.ModeSetgid, Size: 3, ModTime: at, AccessTime: at, UID: 1, GID: 2, Owner: "o", Group: "g", Replication: 2}
	for _, step := range []struct {
		do   func() (any, error)
		want string // the request to the store, and the answer
	}{
		{func() (any, error) { return "", c.SetAttr(ctx, "/f", pfs.AttrMode|pfs.AttrLink, attrs) },
			fmt.Sprintln("SetAttr /f", pfs.AttrMode|pfs.AttrLink, attrs)},
		{func() (any, error) { b, err := c.Xattr(ctx, "/f", "user.a"); return string(b), err }, "Xattr /f user.a value"},
		{func() (any, error) {
			return "", c.SetXattr(ctx, "/f", "user.a", make([]byte, wire.MaxXattr), pfs.XattrCreate)
		}, "SetXattr /f user.a 65536 1"},
		{func() (any, error) { return c.ListXattr(ctx, "/f") }, "ListXattr /f [user.a user.b]"},
		{func() (any, error) { return "", c.RemoveXattr(ctx, "/f", "user.a") }, "RemoveXattr /f user.a"},
		{func() (any, error) { return "", c.HardLink(ctx, "/f", "/g") }, "HardLink /f /g"},
		{func() (any, error) { return "", c.Mknod(ctx, "/n", 0o600|fs.ModeNamedPipe, 1<<40) }, "Mknod /n prw------- 1099511627776"},
		{func() (any, error) { return "", c.Concat(ctx, "/f", []pfs.Path{"/g", "/h"}) }, "Concat /f [/g /h]"},
		{func() (any, error) { return c.Capabilities(ctx, "/d") }, fmt.Sprint("Capabilities /d ", pfs.CanXattr|pfs.CanLocateBlocks)},
		{func() (any, error) { return c.Digest(ctx, "/f", "md5-crc", nil) }, "Digest /f md5-crc md5-crc:00"},
	} {
		got, err := step.do()
		if got := strings.TrimSpace(fmt.Sprint(store.asked, " ", got)); err != nil || got != strings.TrimSpace(step.want) {
			t.Errorf("got %q, %v\nwant %q", got, err, step.want)
		}
	}
	if err := c.SetXattr(ctx, "/f", "user.a", make([]byte, wire.MaxXattr+1), 0); pfs.KindOf(err) != pfs.NoSpace {
		t.Errorf("a value too long for the wire: %v", err)
	}

	blocks, err := pfs.LocateBlocks(ctx, c, "/f", 10, 2*wire.MaxBlocks+1)
	want, _ := store.BlockLocations(ctx, "/f", 10, 2*wire.MaxBlocks+1)
	if err != nil || !slices.EqualFunc(blocks, want, func(a, b pfs.BlockLocation) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%d blocks, want %d: %v", len(blocks), len(want), err)
	}
}

// detailed is a store whose files have all attributes.
type detailed struct{ pfs.FileSystem }

var details = pfs.Info{
	Name: "f", Mode: 0o644, ID: 1 << 60, Links: 2, UID: 1000, GID: 1000, Version: "v",
	ModTime: time.Unix(1, 0), ChangeTime: time.Unix(2, 0), AccessTime: time.Unix(3, 0), Replication: 3, BlockSize: 128 << 20,
}

func (detailed) Stat(context.Context, pfs.Path) (pfs.Info, error) { return details, nil }
func (detailed) List(context.Context, pfs.Path, pfs.ListOptions) (pfs.Page, error) {
	return pfs.Page{Entries: []pfs.Info{details}}, nil
}

// TestInfoCrossesTheWire whole, but in a listing only if that asks for it.
func TestInfoCrossesTheWire(t *testing.T) {
	s := serve(t, detailed{memfs.New(memfs.Options{})})
	c := s.connect(t, s.URL)
	if info, err := c.Stat(t.Context(), "/f"); err != nil || info != details {
		t.Errorf("Stat: %+v, %v", info, err)
	}
	for _, all := range []bool{false, true} {
		want := details
		if !all {
			want = wire.NewInfo(details).Brief().Info()
		}
		page, err := c.List(t.Context(), "/", pfs.ListOptions{Attrs: all})
		if err != nil || len(page.Entries) != 1 || page.Entries[0] != want {
			t.Errorf("List: %+v, %v", page, err)
		}
	}
}
