package pfs

// Owner is a user as the stores know it. A store looks at the part that it can use:
// one with named users at Name, one with numbered users at UID and GID.
type Owner struct {
	Name     string
	UID, GID uint32
}

// OwnershipGiver makes files belong to users. It is a capability of a store, not of
// a tree made of stores.
type OwnershipGiver interface {
	// For returns the same store, in which new files and directories belong to
	// owner from the moment they have their names. Nothing else differs: who may
	// do what is still decided by the caller, and the store is asked with the
	// caller's rights. What was there keeps its owner, also when it is renamed.
	//
	// It does not ask the store, so it takes no context. The same owner gets a
	// result that is equal (==) to the one before, however long ago that was. An
	// owner that the store can have no user for answers Invalid; a store whose
	// configuration rules out giving answers Unsupported.
	//
	// A staged write is found again by its ID under the owner that it was made
	// for; under another the ID may stand for another write, which Identifier
	// then tells apart. Sweep on the store itself removes those of all owners.
	For(owner Owner) (FileSystem, error)
}

// For returns the store fsys whose new files belong to owner, where fsys is an
// OwnershipGiver.
func For(fsys FileSystem, owner Owner) (FileSystem, error) {
	if c, ok := fsys.(OwnershipGiver); ok {
		return c.For(owner)
	}
	return nil, E("pfs.For", "", Unsupported, nil)
}

// Impersonator acts as users. It is a capability of a store, not of a tree made of
// stores.
type Impersonator interface {
	// As returns the same store with every call made as owner, so that the store's
	// own permissions hold and new files belong to owner. What For says of its
	// result, of staged writes and of errors goes for this one too; where the store
	// would not believe the caller who owner is, the answer is Unsupported, and its
	// message says why. Whom the caller itself works as answers Permission: nobody has
	// the caller's rights by having its name.
	As(owner Owner) (FileSystem, error)
}

// As returns the store fsys as owner may use it, where fsys is an Impersonator.
func As(fsys FileSystem, owner Owner) (FileSystem, error) {
	if c, ok := fsys.(Impersonator); ok {
		return c.As(owner)
	}
	return nil, E("pfs.As", "", Unsupported, nil)
}
