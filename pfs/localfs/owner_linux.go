package localfs

import (
	"os/user"
	"strconv"
	"sync"
)

// Names of users and groups do not change while we look; asking for each file would
// cost more than the file.
var owners, groups sync.Map // uint32 -> string

func ownerName(uid uint32) string {
	return cachedName(&owners, uid, func(id string) (string, error) {
		u, err := user.LookupId(id)
		if err != nil {
			return "", err
		}
		return u.Username, nil
	})
}

func groupName(gid uint32) string {
	return cachedName(&groups, gid, func(id string) (string, error) {
		g, err := user.LookupGroupId(id)
		if err != nil {
			return "", err
		}
		return g.Name, nil
	})
}

func cachedName(cache *sync.Map, id uint32, look func(string) (string, error)) string {
	if name, ok := cache.Load(id); ok {
		return name.(string)
	}
	number := strconv.FormatUint(uint64(id), 10)
	name, err := look(number)
	if err != nil {
		name = number
	}
	cache.Store(id, name)
	return name
}
