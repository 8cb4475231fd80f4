package auth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// record is one account in the file.
type record struct {
	Identity   `yaml:",inline"`
	Password   string    `yaml:"password"` // hash
	Generation string    `yaml:"generation"`
	Created    time.Time `yaml:"created"`
	Keys       []string  `yaml:"keys,omitempty"` // public keys of SSH
}

func (r record) account() Account { return Account{r.Identity, r.Generation, r.Created} }

// table is the content of the accounts file. A shared table is immutable.
type table struct {
	Version  int      `yaml:"version"`
	Accounts []record `yaml:"accounts"`
	// Former are the removed accounts, without roles. Their files may still be on the stores, so no
	// other account gets their identities; an account of the same name gets its own back.
	Former []Identity `yaml:"former,omitempty"`

	byName map[string]int // index into Accounts
}

// find returns the account named name, which may be changed until the table is shared.
func (t *table) find(name string) (*record, bool) {
	i, ok := t.byName[name]
	if !ok {
		return nil, false
	}
	return &t.Accounts[i], true
}

// holders records which name has which identity.
type holders struct {
	names map[string]string // folded name -> name
	hdfs  map[string]string // lower-case HDFS user -> name
	uids  map[int]string    // uid -> name
	gids  map[int]bool
}

// claim adds an identity and explains any conflict with another one.
func (h *holders) claim(id Identity) string {
	name, lower := id.Name, strings.ToLower(id.HDFSUser)
	if other, ok := h.names[foldName(name)]; ok {
		if other == name {
			return fmt.Sprintf("there is an account %q already", name)
		}
		return fmt.Sprintf("account %q is too like %q: their homes could become one", name, other)
	}
	if other, ok := h.hdfs[lower]; ok {
		return fmt.Sprintf("HDFS user %q is that of account %q", id.HDFSUser, other)
	}
	if other, ok := h.uids[id.UID]; ok {
		return fmt.Sprintf("uid %d is that of account %q", id.UID, other)
	}
	h.names[foldName(name)], h.hdfs[lower], h.uids[id.UID], h.gids[id.GID] = name, name, name, true
	return ""
}

// holders returns who has which identity, former accounts included. It reports the first fault to
// at, with its section and index.
func (t *table) holders(at func(section string, i int, reason string)) *holders {
	h := &holders{names: map[string]string{}, hdfs: map[string]string{}, uids: map[int]string{}, gids: map[int]bool{}}
	for i, r := range t.Accounts {
		if reason := h.claim(r.Identity); reason != "" {
			at("accounts", i, reason)
		}
	}
	for i, f := range t.Former {
		if reason := h.claim(f); reason != "" {
			at("former", i, reason)
		}
	}
	return h
}

// add makes the account n with the given password hash.
func (t *table) add(n NewAccount, hash string, now time.Time) (Account, error) {
	const op = "auth.Add"
	if err := t.checkNew(op, n.Name); err != nil {
		return Account{}, err
	}
	old := t.takeFormer(n.Name)
	h := t.holders(func(string, int, string) {})
	id := Identity{Name: n.Name, Role: n.Role, UID: cmp.Or(n.UID, old.UID, h.freeUID())}
	id.GID = cmp.Or(n.GID, old.GID, id.UID)
	id.HDFSUser = cmp.Or(n.HDFSUser, old.HDFSUser, deriveHDFSUser(n.Name, h.hasHDFSUser))
	if reason := h.claim(id); reason != "" {
		return Account{}, pfs.Errorf(op, "", pfs.Conflict, "%s; choose another", reason)
	}
	r := record{Identity: id, Password: hash, Generation: newGeneration(), Created: now.UTC().Truncate(time.Second)}
	t.Accounts = append(t.Accounts, r)
	t.index()
	return r.account(), nil
}

// checkNew refuses invalid names for a new account. A removed account may always return under its
// name.
func (t *table) checkNew(op, name string) error {
	if _, ok := t.find(name); ok {
		return pfs.Errorf(op, "", pfs.Exist, "there is an account %q already: pfsd user passwd gives it another password", name)
	}
	if slices.ContainsFunc(t.Former, func(f Identity) bool { return f.Name == name }) {
		return nil
	}
	if reason := checkNewName(name); reason != "" {
		return pfs.Errorf(op, "", pfs.Invalid, "user name %q: %s: choose another name", name, reason)
	}
	like := skeleton(name)
	for _, other := range t.names() {
		if skeleton(other) == like {
			return pfs.Errorf(op, "", pfs.Conflict, "user name %q is too like %q, which is or was that of an account: choose another name", name, other)
		}
	}
	return nil
}

// names returns the names of all accounts, present and former.
func (t *table) names() (list []string) {
	for _, r := range t.Accounts {
		list = append(list, r.Name)
	}
	for _, f := range t.Former {
		list = append(list, f.Name)
	}
	return list
}

// freeUID returns the lowest number that is neither a uid nor a gid.
func (h *holders) freeUID() int {
	uid := FirstUID
	for h.uids[uid] != "" || h.gids[uid] {
		uid++
	}
	return uid
}

// hasHDFSUser reports whether user is taken.
func (h *holders) hasHDFSUser(user string) bool { return h.hdfs[strings.ToLower(user)] != "" }

// takeFormer removes and returns the remains of an account named name.
func (t *table) takeFormer(name string) Identity {
	i := slices.IndexFunc(t.Former, func(f Identity) bool { return f.Name == name })
	if i < 0 {
		return Identity{}
	}
	old := t.Former[i]
	t.Former = slices.Delete(t.Former, i, i+1)
	return old
}

// remove removes the account of r and reserves its identity.
func (t *table) remove(r *record) {
	left := r.Identity
	left.Role = ""
	t.Former = append(t.Former, left)
	i := t.byName[r.Name]
	t.Accounts = slices.Delete(t.Accounts, i, i+1)
	t.index()
}

func (t *table) index() {
	t.byName = make(map[string]int, len(t.Accounts))
	for i, r := range t.Accounts {
		t.byName[r.Name] = i
	}
}
