package namespace

import (
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Names of published datasets, as paddlectl dataset publish gives them.
const (
	datasets = "dataset"
	latest   = "latest"
	// claim names the owner of an unfinished version; it is removed when the version is complete.
	claim          = ".publishing"
	manifestSuffix = ".manifest"
)

// publishedPlace is the place of a path among the published datasets of a datacenter.
type publishedPlace struct {
	all     pfs.Path // /pfs/DC/public/dataset
	dataset pfs.Path // .../NAME; "" above it
	entry   pfs.Path // .../NAME/ENTRY; "" above it
	inEntry bool     // below that
}

// publishedAt returns the place of name among the published datasets; false if it is elsewhere.
func publishedAt(name pfs.Path) (publishedPlace, bool) {
	var elems []string
	for elem := range name.Names() {
		if elems = append(elems, elem); len(elems) == 7 {
			break
		}
	}
	if len(elems) < 4 || pfs.Root.Join(elems[0]) != top || elems[2] != public || elems[3] != datasets {
		return publishedPlace{}, false
	}
	p := publishedPlace{all: top.Join(elems[1]).Join(public).Join(datasets), inEntry: len(elems) > 6}
	if len(elems) > 4 {
		p.dataset = p.all.Join(elems[4])
	}
	if len(elems) > 5 {
		p.entry = p.dataset.Join(elems[5])
	}
	return p, true
}

// isVersion reports whether the entry is the directory of a version.
func (p publishedPlace) isVersion() bool { return p.entry != "" && isNumber(p.entry.Base()) }

// isLatest reports whether the entry is latest.
func (p publishedPlace) isLatest() bool { return p.entry != "" && p.entry.Base() == latest }

// isNumber reports whether name is a version number: 1, 2, and so on.
func isNumber(name string) bool {
	n, err := strconv.Atoi(name)
	return err == nil && n > 0 && strconv.Itoa(n) == name
}

// isManifest reports whether name is the name of a manifest.
func isManifest(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, manifestSuffix) && len(name) > len(".")+len(manifestSuffix)
}
