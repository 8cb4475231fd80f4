package webhdfs

import (
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// top is the directory whose paths are the same for every client of the service.
const top = pfs.Path("/pfs")

// userPlace stands for the name of the account in Config.Root.
const userPlace = "{user}"

// resolve returns the path of the tree that the client calls asked: itself below /pfs, else below the root.
func (c *call) resolve(asked string) (pfs.Path, error) {
	name, err := pfs.CleanPath(asked)
	if err != nil {
		return "", exception{invalidPath, "Invalid path name: " + err.Error(), 400}
	}
	if name.Within(top) {
		return name, nil
	}
	if c.cfg.Root == "" {
		if name == pfs.Root {
			return name, nil
		}
		return "", missing("File does not exist: %s (paths begin with %s: this service has no root for others)", asked, top)
	}
	root := pfs.Path(strings.ReplaceAll(c.cfg.Root, userPlace, c.user.Name))
	name = name.Rebase(pfs.Root, root)
	if err := pfs.CheckPath("webhdfs.resolve", name); err != nil {
		return "", exception{invalidPath, "Invalid path name: " + err.Error(), 400}
	}
	return name, nil
}

// resolveParam returns the path that a parameter names.
func (c *call) resolveParam(name, value string) (pfs.Path, error) {
	if !strings.HasPrefix(value, "/") {
		return "", badParam(name, "Invalid parameter value: "+name+" = \""+value+"\" is not an absolute path.")
	}
	return c.resolve(value)
}
