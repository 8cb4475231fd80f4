package manifest

import "strings"

const suffix = ".manifest"

// FileName returns the name of the manifest of the dataset name.
func FileName(name string) string { return "." + name + suffix }

// DatasetOf returns the name of the dataset whose manifest has the name file; false if file is not
// such a name.
func DatasetOf(file string) (name string, ok bool) {
	name, ok = strings.CutSuffix(file, suffix)
	if !ok || len(name) < 2 || name[0] != '.' {
		return "", false
	}
	return name[1:], true
}

// CheckName reports why name cannot be that of a dataset or a shard; "" if it can.
func CheckName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case name[0] == '.':
		return "it begins with a dot: patterns would not find the files"
	case strings.ContainsAny(name, "/\\"):
		return "it has a slash"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }):
		return "it has a control character, or is not UTF-8"
	}
	return ""
}
