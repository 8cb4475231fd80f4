package shard

// mix is the finalizer of SplitMix64: a bijection on 64 bits in which every bit of x changes half
// of the result. Orders and rendezvous hashing depend on it, so it never changes.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// golden is 2^64 divided by the golden ratio: the step of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// derive returns a key that depends on each of parts and on their order.
func derive(parts ...uint64) uint64 {
	var key uint64
	for _, p := range parts {
		key = mix((key+golden)^mix(p+golden)) + golden
	}
	return mix(key)
}
