package dataset

import (
	"path"
	"strings"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// survey counts the files that were found below directories by what their names say:
// the name of a format, else the ending, or noEnding. A tree as a whole tells its
// format; the file that comes first in it may be about the data.
type survey map[string]tally

type tally struct{ files, bytes int64 }

const (
	noEnding    = "."
	otherEnding = ".*" // of a name that has an unlikely one, so that there are not too many
	besideData  = "./" // of a file that comes with a data set and has none of its records
	imagesName  = "images"
	mnistName   = "mnist"
)

// saidBy returns what a name says.
func saidBy(name string) string {
	if convert.IsBesideCIFAR(name) {
		return besideData
	}
	if f := convert.FormatOfName(name); f != nil {
		return f.Name
	}
	const longest = 12
	switch ending := strings.ToLower(path.Ext(name)); {
	case len(ending) > longest:
		return otherEnding
	case len(ending) > 1:
		return ending
	}
	return noEnding
}

// isFormat reports whether what a name says is a format.
func isFormat(said string) bool { return !strings.HasPrefix(said, ".") }

func (s survey) add(said string, size int64) {
	t := s[said]
	s[said] = tally{t.files + 1, t.bytes + size}
}

// kept returns which files are of the data, by what their names say; "" if all are.
// That is so unless the data are images, or half of the files have names of one format.
func (s survey) kept(format string) string {
	switch format {
	case imagesName:
		for _, said := range []string{imagesName, noEnding} {
			if s[said].files > 0 {
				return said
			}
		}
	case "":
		if s.areImages() {
			return imagesName
		}
		return s.most()
	}
	return ""
}

// areImages reports whether there are as many images as files of any other kind, and
// not just a few: each of them may have a file beside it that says what it shows.
func (s survey) areImages() bool {
	images, all := s[imagesName].files, int64(0)
	for _, t := range s {
		if t.files > images {
			return false
		}
		all += t.files
	}
	return images > 0 && 3*images >= all
}

// most returns the format that at least half of the names say, and more than say
// anything else; "" if there is none.
func (s survey) most() string {
	all, most, by := int64(0), int64(0), ""
	for said, t := range s {
		all += t.files
		switch {
		case t.files > most:
			most, by = t.files, said
		case t.files == most:
			by = noEnding // nothing, unless another has more
		}
	}
	if 2*most < all || !isFormat(by) {
		return ""
	}
	return by
}

// isStray reports whether a file whose name says something is left out where kept is
// kept: beside images all that is none; beside other formats what may be no data. A
// file of another format is left to the check that all are of one.
func isStray(said, kept string) bool {
	if said == besideData {
		return true
	}
	if kept == "" || said == "" || said == kept {
		return false
	}
	return kept == imagesName || kept == noEnding || !isFormat(said)
}

// strays are the files that were left out.
type strays struct {
	kept  string
	count int64
	first []string
}

const mostStrays = 10 // of which the names are told

func (s *strays) add(f pfs.Info) {
	if s.count++; len(s.first) < mostStrays {
		s.first = append(s.first, f.Target)
	}
}

// tell names the first of them.
func (s *strays) tell(a *app.App) {
	if s.count == 0 {
		return
	}
	kind := s.kept
	switch kind {
	case "":
		kind = "data"
	case noEnding:
		kind = imagesName
	}
	text := strings.Join(s.first, ", ")
	if more := s.count - int64(len(s.first)); more > 0 {
		text += ", and " + app.Count(more, "more", "more")
	}
	a.Message("left out as no %s, by their names: %s", kind, text)
}

// settle finds which of the files below directories are data, when all were found.
func (in *datasetInputs) settle(format string) {
	all := survey{}
	for _, g := range in.groups {
		for said, t := range g.below {
			all[said] = tally{all[said].files + t.files, all[said].bytes + t.bytes}
		}
	}
	delete(all, besideData)
	in.strays.kept = all.kept(format)
	for _, g := range in.groups {
		for said, t := range g.below {
			if !isStray(said, in.strays.kept) {
				continue
			}
			g.files, g.bytes, in.files = g.files-t.files, g.bytes-t.bytes, in.files-t.files
			if in.bytes >= 0 {
				in.bytes -= t.bytes
			}
		}
	}
	in.settleLabels()
}
