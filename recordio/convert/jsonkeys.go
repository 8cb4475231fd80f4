package convert

import "slices"

// keyStack holds the keys of all open objects, to find duplicate keys: readers differ in which of
// two values they take.
type keyStack []string

// objectKeys are the keys of one object: those on the stack from base on.
type objectKeys struct {
	base int
	many map[string]struct{} // the same keys, once there are more than manyKeys
}

// manyKeys is how many keys are compared one by one.
const manyKeys = 32

func (s keyStack) open() objectKeys { return objectKeys{base: len(s)} }

// add adds a key to the innermost object. It returns false for a duplicate.
func (s *keyStack) add(o *objectKeys, name string) bool {
	if o.many == nil {
		mine := (*s)[o.base:]
		if slices.Contains(mine, name) {
			return false
		}
		if *s = append(*s, name); len(mine) < manyKeys {
			return true
		}
		o.many = make(map[string]struct{}, 2*manyKeys)
		for _, known := range mine {
			o.many[known] = struct{}{}
		}
	}
	_, twice := o.many[name]
	o.many[name] = struct{}{}
	return !twice
}

func (s *keyStack) close(o objectKeys) { *s = (*s)[:o.base] }
