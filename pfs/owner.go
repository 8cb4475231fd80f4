package pfs

// Owner is a user as the stores know it. A store with named users uses Name, one with numbered
// users UID and GID.
type Owner struct {
	Name     string
	UID, GID uint32
}

// OwnershipGiver makes files for users. Only stores have this capability, not trees of stores.
type OwnershipGiver interface {
	// WithOwner returns the same store, in which new files and directories belong to owner from the
	// moment they have their names. The caller's rights still decide who may do what. Existing
	// files keep their owner, also when they are renamed.
	//
	// WithOwner does no I/O, so it takes no context. Equal owners get equal (==) results, however
	// long ago the first one was. An owner that cannot be a user of the store answers Invalid;
	// a store whose configuration forbids giving answers Unsupported.
	//
	// An upload is found by its ID under the owner that it was made for. Under another owner
	// the ID may name another upload; Identifier distinguishes them. Sweep on the store itself
	// removes the uploads of all owners.
	WithOwner(owner Owner) (FileSystem, error)
}

// WithOwner returns the store fsys whose new files belong to owner, where fsys is an
// OwnershipGiver.
func WithOwner(fsys FileSystem, owner Owner) (FileSystem, error) {
	if c, ok := fsys.(OwnershipGiver); ok {
		return c.WithOwner(owner)
	}
	return nil, E("pfs.WithOwner", "", Unsupported, nil)
}

// Impersonator acts as users. Only stores have this capability, not trees of stores.
type Impersonator interface {
	// Impersonate returns the same store with every call made as owner, so that the store's own
	// permissions apply and new files belong to owner. The rules of WithOwner about results, uploads and
	// errors apply. If the store does not let the caller act as owner, the answer is Unsupported, with
	// the reason. The user that the caller itself runs as answers Permission: no account may get the
	// caller's rights by its name.
	Impersonate(owner Owner) (FileSystem, error)
}

// Impersonate returns the store fsys as owner may use it, where fsys is an Impersonator.
func Impersonate(fsys FileSystem, owner Owner) (FileSystem, error) {
	if c, ok := fsys.(Impersonator); ok {
		return c.Impersonate(owner)
	}
	return nil, E("pfs.Impersonate", "", Unsupported, nil)
}
