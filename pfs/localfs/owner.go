package localfs

import (
	"os/user"
	"strconv"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// maxOwners limits each cache of names; a full one is emptied.
const maxOwners = 4096

// owners caches the names of users and groups.
type owners struct {
	mu            sync.Mutex
	users, groups map[uint32]string
}

// names returns the names of the file's owner and group. It returns numbers where the system knows
// no name, and nothing where it knows no numbers.
func (o *owners) names(st stat) (owner, group string) {
	if !st.owned {
		return "", ""
	}
	return o.name(&o.users, st.uid, lookUpUser), o.name(&o.groups, st.gid, lookUpGroup)
}

// name does not hold the lock during the lookup: the answer may come from a server.
func (o *owners) name(cache *map[uint32]string, id uint32, look func(id string) (string, error)) string {
	o.mu.Lock()
	name, ok := (*cache)[id]
	o.mu.Unlock()
	if ok {
		return name
	}
	name, err := look(strconv.FormatUint(uint64(id), 10))
	if err != nil {
		name = strconv.FormatUint(uint64(id), 10)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if *cache == nil || len(*cache) >= maxOwners {
		*cache = map[uint32]string{}
	}
	(*cache)[id] = name
	return name
}

// numberOf returns the number that look finds for name, or name itself if it is a number.
func numberOf(name string, look func(name string) (id string, err error)) (int, error) {
	id, err := look(name)
	if err != nil {
		id = name
	}
	n, failed := strconv.ParseUint(id, 10, 31)
	if failed != nil {
		return 0, pfs.Errorf("localfs.numberOf", "", pfs.NotExist, "this machine does not know %.80q: %w", name, err)
	}
	return int(n), nil
}

func userNumber(name string) (string, error) {
	return fieldOf(user.Lookup, name, func(u *user.User) string { return u.Uid })
}
func groupNumber(name string) (string, error) {
	return fieldOf(user.LookupGroup, name, func(g *user.Group) string { return g.Gid })
}
func lookUpUser(id string) (string, error) {
	return fieldOf(user.LookupId, id, func(u *user.User) string { return u.Username })
}
func lookUpGroup(id string) (string, error) {
	return fieldOf(user.LookupGroupId, id, func(g *user.Group) string { return g.Name })
}

// fieldOf returns a field of what look finds.
func fieldOf[T any](look func(key string) (*T, error), key string, field func(*T) string) (string, error) {
	found, err := look(key)
	if err != nil {
		return "", err
	}
	return field(found), nil
}
