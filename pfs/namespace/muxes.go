package namespace

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// maxMuxes is the number of muxes that are kept. One takes some kilobytes, and microseconds to
// make again.
const maxMuxes = 4096

// muxKey is for whom a mux is.
type muxKey struct {
	owner pfs.Owner // of new files; zero is the service
	// viewer is the user for mapped directories with the store's permissions, if there are
	// any; zero is nobody.
	viewer pfs.Owner
	// administers is set for quotas and usage: the service reads and sets them itself, even
	// where the store's permissions apply, since users cannot.
	administers bool
}

// muxes are the trees of all stores: one for each user, and one for the service.
type muxes struct {
	datacenters []Datacenter
	current     string
	asUser      bool       // a mapped directory keeps the store's permissions
	only        *pfs.Layer // for everybody, if no store knows users; else nil

	mu   sync.Mutex
	kept map[muxKey]*pfs.Layer
}

func newMuxes(datacenters []Datacenter, current string) *muxes {
	m := &muxes{datacenters: datacenters, current: current, kept: map[muxKey]*pfs.Layer{}}
	gives := false
	for _, dc := range datacenters {
		_, ok := dc.FS.(pfs.OwnershipGiver)
		gives = gives || ok && !dc.ServiceOwns
		m.asUser = m.asUser || slices.ContainsFunc(dc.Mapped, func(mapped MappedDir) bool { return mapped.AsUser })
	}
	if !gives && !m.asUser {
		m.only = m.make(muxKey{})
	}
	return m
}

// get returns the mux of key.
func (m *muxes) get(key muxKey) *pfs.Layer {
	if !m.asUser {
		key.administers = false
	}
	if !m.asUser || key.administers {
		key.viewer = pfs.Owner{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mux := m.kept[key]
	if mux == nil {
		if len(m.kept) >= maxMuxes {
			clear(m.kept)
		}
		mux = m.make(key)
		m.kept[key] = mux
	}
	return mux
}

// make mounts the stores for key. The mount of /pfs/public is only for the listing of /pfs: paths
// below it have the name of their datacenter before they reach the mux.
func (m *muxes) make(key muxKey) *pfs.Layer {
	var ms []pfs.Mount
	for _, dc := range m.datacenters {
		at, store := top.Join(dc.Name), dc.FS
		if key.owner != (pfs.Owner{}) {
			store = dc.storeFor(key.owner)
		}
		ms = append(ms,
			pfs.Mount{At: at.Join(home), FS: store, Dir: dc.at(home)},
			pfs.Mount{At: at.Join(public), FS: store, Dir: dc.at(public)})
		if dc.Name == m.current {
			ms = append(ms, pfs.Mount{At: top.Join(public), FS: store, Dir: dc.at(public)})
		}
		for _, mapped := range dc.Mapped {
			fsys := store
			if mapped.AsUser && !key.administers {
				fsys = storeAs(dc.FS, key.viewer)
			}
			ms = append(ms, pfs.Mount{At: mountPath(dc.Name, mapped.Name), FS: fsys, Dir: mapped.Dir})
		}
	}
	return pfs.NewMux(ms...)
}

// storeFor returns the store whose new files belong to owner, if it can give them to users.
func (dc Datacenter) storeFor(owner pfs.Owner) pfs.FileSystem {
	if dc.ServiceOwns {
		return dc.FS
	}
	fsys, err := pfs.WithOwner(dc.FS, owner)
	switch {
	case errors.Is(err, pfs.Unsupported):
		return dc.FS
	case err != nil:
		return failing(err)
	}
	return fsys
}

// storeAs returns the store with the rights of viewer, never with those of the service.
func storeAs(store pfs.FileSystem, viewer pfs.Owner) pfs.FileSystem {
	if viewer == (pfs.Owner{}) {
		return failing(pfs.Errorf(opView, "", pfs.Permission, "your account is not a user of this store, whose own permissions apply here"))
	}
	fsys, err := pfs.Impersonate(store, viewer)
	if err != nil {
		return failing(err)
	}
	return fsys
}

// failing is a file system that answers err to everything.
func failing(err error) pfs.FileSystem {
	return pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, _ func(pfs.FileSystem, pfs.Path) error) error {
		return pfs.Errorf(opView, name, pfs.KindOf(err), "%w", err)
	})
}
