package localfs

import (
	"os/user"
	"strconv"
	"sync"
)

// maxOwners bounds each cache of names; a full one is emptied.
const maxOwners = 4096

// owners remembers the names of users and groups.
type owners struct {
	mu            sync.Mutex
	users, groups map[uint32]string
}

// names returns the names of the owner and the group of a file, their numbers
// where the system knows no name, and nothing where it knows no numbers.
func (o *owners) names(st stat) (owner, group string) {
	if !st.owned {
		return "", ""
	}
	return o.name(&o.users, st.uid, lookUpUser), o.name(&o.groups, st.gid, lookUpGroup)
}

// name does not hold the lock while it asks: the answer may come from a server.
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

func lookUpUser(id string) (string, error) {
	u, err := user.LookupId(id)
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func lookUpGroup(id string) (string, error) {
	g, err := user.LookupGroupId(id)
	if err != nil {
		return "", err
	}
	return g.Name, nil
}
