package main

import (
	"net/http"

	"github.com/paddlecloud/pfs/cmd/internal/mounting"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics serves the figures of a mount in Prometheus' text format.
func metrics(opts fuse.Options) (http.Handler, func(fuse.Request)) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pfs_mount_requests_total", Help: "Requests of the kernel by operation and result.",
	}, []string{"operation", "result"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "pfs_mount_request_seconds", Help: "Time of a request of the kernel.", Buckets: prometheus.ExponentialBuckets(0.00001, 4, 11),
	}, []string{"operation"})
	moved := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pfs_mount_request_bytes_total", Help: "Bytes read and written by requests of the kernel.",
	}, []string{"operation"})
	passthrough := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "pfs_mount_passthrough_opens_total", Help: "Opens of files that the kernel then reads itself from the cache's disk.",
	})
	r := prometheus.NewRegistry()
	r.MustRegister(requests, seconds, moved, passthrough)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if opts.Cache != nil {
		r.MustRegister(cacheMetrics(func() cachefs.Status { return opts.Cache().(cachefs.Status) }))
	}
	if opts.Pending != nil {
		r.MustRegister(pendingMetrics(func() mounting.Pending { return opts.Pending().(mounting.Pending) }))
	}
	if opts.Broker != nil {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "pfs_mount_replacements_total", Help: "Servers of the mount that were started before this one.",
		}, func() float64 { return float64(opts.Broker.Replacements()) }))
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{}), func(r fuse.Request) {
		requests.WithLabelValues(r.Op, r.Result).Inc()
		seconds.WithLabelValues(r.Op).Observe(r.Took.Seconds())
		if r.Bytes > 0 {
			moved.WithLabelValues(r.Op).Add(float64(r.Bytes))
		}
		if r.Passthrough {
			passthrough.Inc()
		}
	}
}

// cacheMetrics are the figures of a cache.
type cacheMetrics func() cachefs.Status

var (
	readBytes     = described("cache_read_bytes_total", "Bytes read: from the disk at once, from the store into the cache (store), or from the store past the cache.", "source")
	hitRatio      = described("cache_hit_ratio", "Share of the bytes read that came from the disk at once.")
	fetchedBytes  = described("cache_fetched_bytes_total", "Bytes that came from the store into the cache.")
	hedged        = described("cache_hedged_requests_total", "Requests that were sent a second time because the store had stalled.")
	aheadBlocks   = described("cache_ahead_blocks_total", "Blocks requested before a program read them.")
	wastedBlocks  = described("cache_wasted_blocks_total", "Of these, blocks that no program had read when their file was closed.")
	cacheFiles    = described("cache_open_files", "Files of the cache that are open.")
	cacheBytes    = described("cache_bytes", "Bytes in a cache directory.", "dir")
	cacheLimit    = described("cache_limit_bytes", "Bytes that a cache directory may hold.", "dir")
	evictedFiles  = described("cache_evicted_files_total", "Files removed from a cache directory to make room.", "dir")
	cacheFailures = described("cache_failing", "1 if a cache directory cannot be used.", "dir")
)

// described returns the description of a figure of the mount.
func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pfs_mount_"+name, help, labels, nil)
}

// pendingMetrics count the files and bytes that the store does not have yet.
type pendingMetrics func() mounting.Pending

var (
	pendingFiles = described("pending_files", "Files that were written and are not on the store yet.")
	pendingBytes = described("pending_bytes", "Bytes of these files.")
)

// Describe implements prometheus.Collector.
func (p pendingMetrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, to) }

// Collect implements prometheus.Collector.
func (p pendingMetrics) Collect(to chan<- prometheus.Metric) {
	s := p()
	to <- prometheus.MustNewConstMetric(pendingFiles, prometheus.GaugeValue, float64(s.Files))
	to <- prometheus.MustNewConstMetric(pendingBytes, prometheus.GaugeValue, float64(s.Bytes))
}

// Describe implements prometheus.Collector.
func (c cacheMetrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c cacheMetrics) Collect(to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := c()
	counter(readBytes, s.Hit, "disk")
	counter(readBytes, s.Missed, "store")
	counter(readBytes, s.Passed, "passed")
	gauge(hitRatio, float64(s.Hit)/float64(max(1, s.Hit+s.Missed+s.Passed)))
	counter(fetchedBytes, s.Fetched)
	counter(hedged, s.Hedged)
	counter(aheadBlocks, s.Ahead)
	counter(wastedBlocks, s.Wasted)
	gauge(cacheFiles, float64(s.Files))
	for _, d := range s.Dirs {
		gauge(cacheBytes, float64(d.Used), d.Path)
		gauge(cacheLimit, float64(d.Limit), d.Path)
		counter(evictedFiles, d.Evicted, d.Path)
		failing := 0.0
		if d.Failing {
			failing = 1
		}
		gauge(cacheFailures, failing, d.Path)
	}
}
