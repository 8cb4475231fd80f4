package mounting

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
)

// isPublic reports whether every account of a service may read name.
func isPublic(name pfs.Path) bool {
	public, _ := publicAt(name)
	return public != ""
}

// publicAt returns the public directory of a service that contains name, and the version of a
// published dataset that does; both are empty if there is none.
func publicAt(name pfs.Path) (public, version pfs.Path) {
	names := slices.Collect(name.Names())
	at := 1 // /pfs/public
	if len(names) > 2 && names[2] == "public" {
		at = 2 // /pfs/DC/public
	}
	if len(names) <= at || names[at] != "public" || !name.Within(app.Top) {
		return "", ""
	}
	up := func(n int) pfs.Path { // the first n elements
		p := pfs.Root
		for _, e := range names[:n] {
			p = p.Join(e)
		}
		return p
	}
	// public/dataset/NAME/NUMBER
	if len(names) > at+3 && names[at+1] == "dataset" {
		if n, err := strconv.Atoi(names[at+3]); err == nil && n > 0 && strconv.Itoa(n) == names[at+3] {
			version = up(at + 4)
		}
	}
	return up(at + 1), version
}

// publicAsked is for how long an account is assumed to have the same rights in a public directory.
const publicAsked = time.Minute

// protections knows who may change the directories of a service: nobody may change a complete version of a
// published dataset, and only publishers may change other public directories.
type protections struct {
	fs pfs.FileSystem

	mu     sync.Mutex
	public map[pfs.Path]publicRight
}

type publicRight struct {
	fuse.Protection
	at time.Time
}

func (p *protections) of(ctx context.Context, dir pfs.Path) (fuse.Protection, error) {
	public, version := publicAt(dir)
	if public == "" {
		return fuse.Unprotected, nil
	}
	if version != "" {
		if complete, err := p.isComplete(ctx, version); complete || err != nil {
			return fuse.Immutable, err
		}
	}
	p.mu.Lock()
	right, known := p.public[public]
	p.mu.Unlock()
	if known && time.Since(right.at) < publicAsked {
		return right.Protection, nil
	}
	right.at = time.Now()
	// The answer is the same for everything in it.
	switch err := pfs.CheckAccess(ctx, p.fs, pfs.Write, public.Join("dataset")); pfs.KindOf(err) {
	case pfs.Permission, pfs.ReadOnly:
		right.Protection = fuse.Foreign
	case pfs.Unavailable, pfs.Limit, pfs.Unauthenticated, pfs.Canceled:
		return 0, err
	default:
		right.Protection = fuse.Unprotected
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.public[public] = right
	return right.Protection, nil
}

// isComplete reports whether the directory of a version has a manifest, and the claim of its
// publisher is gone.
func (p *protections) isComplete(ctx context.Context, version pfs.Path) (complete bool, err error) {
	for e, err := range pfs.Entries(ctx, p.fs, version, nil) {
		if err != nil {
			return false, err
		}
		if e.Name == ".publishing" {
			return false, nil
		}
		if _, ok := manifest.DatasetOf(e.Name); ok {
			complete = true
		}
	}
	return complete, nil
}
