package namespace

import "github.com/paddlecloud/pfs/pfs"

// kind is the kind of a path in the tree, which its place determines.
type kind uint8

const (
	nowhere   kind = iota // nothing can be there
	above                 // /, /pfs and /pfs/DC
	theHomes              // /pfs/DC/home
	oneHome               // /pfs/DC/home/USER
	inHome                // below
	thePublic             // /pfs/DC/public
	inPublic              // below
	theMounts             // /pfs/DC/mnt
	oneMount              // /pfs/DC/mnt/NAME
	inMount               // below
)

// place is where a path is.
type place struct {
	kind  kind
	owner string   // of a home and what is in it
	mount pfs.Path // /pfs/DC/mnt/NAME, for that and what is in it
}

// placeOf returns the place of name in its datacenter. Homes must have the new spelling.
func placeOf(name pfs.Path) place {
	var elems []string
	for elem := range name.Names() {
		if elems = append(elems, elem); len(elems) == 5 {
			break
		}
	}
	switch {
	case len(elems) > 0 && pfs.Root.Join(elems[0]) != top:
		return place{kind: nowhere}
	case len(elems) > 1 && elems[1] == public:
		return publicPlace(elems[2:])
	case len(elems) <= 2:
		return place{kind: above}
	case elems[2] == home:
		return homePlace(elems[3:])
	case elems[2] == public:
		return publicPlace(elems[3:])
	case elems[2] == mnt:
		return mountPlace(elems[1], elems[3:])
	}
	return place{kind: nowhere}
}

// publicPlace returns the place of the elements below a public directory.
func publicPlace(elems []string) place {
	if len(elems) == 0 {
		return place{kind: thePublic}
	}
	return place{kind: inPublic}
}

// homePlace returns the place of the elements below /pfs/DC/home.
func homePlace(elems []string) place {
	switch len(elems) {
	case 0:
		return place{kind: theHomes}
	case 1:
		return place{kind: oneHome, owner: elems[0]}
	}
	return place{kind: inHome, owner: elems[0]}
}

// mountPlace returns the place of the elements below /pfs/DC/mnt.
func mountPlace(dc string, elems []string) place {
	switch len(elems) {
	case 0:
		return place{kind: theMounts}
	case 1:
		return place{kind: oneMount, mount: mountPath(dc, elems[0])}
	}
	return place{kind: inMount, mount: mountPath(dc, elems[0])}
}

// mountPath returns the path of the mapped directory name of a datacenter.
func mountPath(dc, name string) pfs.Path { return top.Join(dc).Join(mnt).Join(name) }
