package app

import (
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// The tree of a service, as paths of it are spelled here.
const (
	// Top is the directory of all that is on a service.
	Top = pfs.Path("/pfs")
	// CurrentPublic is the public directory of the current datacenter.
	CurrentPublic = Top + "/" + public

	homes    = "home"
	public   = "public"
	mapped   = "mnt"
	datasets = "dataset" // in public
	oldHomes = "user"    // the old spelling of homes
)

// datacenter returns the element after /pfs; "" if there is none.
func datacenter(p pfs.Path) string {
	parts := strings.SplitN(string(p), "/", 4)
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

// IsRoot reports whether p is a directory that the service provides, not the user:
// /pfs, /pfs/DC, /pfs/DC/home, /pfs/DC/home/USER, /pfs/DC/public, /pfs/DC/mnt/NAME
// and what leads there.
func IsRoot(p pfs.Path) bool {
	parts := strings.Split(string(p), "/")[1:]
	switch {
	case len(parts) <= 2:
		return true
	case parts[1] == public:
		return false
	case len(parts) == 3:
		return true
	}
	return len(parts) == 4 && (parts[2] == homes || parts[2] == mapped)
}

func homeOf(dc, user string) pfs.Path {
	return Top.Join(dc).Join(homes).Join(user)
}

// IsHome reports whether p is a home itself.
func IsHome(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) == 5 && parts[3] == homes
}

// IsInHome reports whether p is a home or below one.
func IsInHome(p pfs.Path) bool {
	parts := strings.Split(string(p), "/") // "", pfs, DC, home, USER
	return len(parts) >= 5 && parts[3] == homes
}

// AboveStores reports whether p is a directory of the service in which there are stores:
// /pfs, /pfs/DC and /pfs/DC/mnt.
func AboveStores(p pfs.Path) bool {
	if p.Base() == mapped && p.Parent().Parent() == Top && p.Parent() != CurrentPublic {
		return true
	}
	return p == Top || p.Parent() == Top && p != CurrentPublic
}

// IsPublicDataset reports whether p is /pfs/DC/public/dataset/NAME or
// /pfs/public/dataset/NAME.
func IsPublicDataset(p pfs.Path) bool {
	parts := strings.Split(string(p), "/")[2:]
	if len(parts) > 0 && parts[0] != public {
		parts = parts[1:]
	}
	return len(parts) == 3 && parts[0] == public && parts[1] == datasets
}
