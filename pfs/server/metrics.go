package server

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the figures of /metrics.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	received prometheus.Counter
	sent     prometheus.Counter
	failures *prometheus.CounterVec

	sessions        *prometheus.GaugeVec // of other protocols
	gatewayRequests *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pfs_requests_total", Help: "Requests by operation and HTTP status.",
		}, []string{"operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pfs_request_seconds", Help: "Time from the first byte of a request to the last of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
		}, []string{"operation"}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pfs_received_bytes_total", Help: "Bytes of request bodies, and of data that other protocols received.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pfs_sent_bytes_total", Help: "Bytes of answer bodies, and of data that other protocols sent.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pfs_failures_total", Help: "Failed operations by kind of error.",
		}, []string{"kind"}),
		sessions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pfs_gateway_sessions", Help: "Sessions of users by protocol, such as sftp.",
		}, []string{"protocol"}),
		gatewayRequests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pfs_gateway_requests_total", Help: "Requests of these sessions by protocol, operation and result.",
		}, []string{"protocol", "operation", "result"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.received, m.sent, m.failures, m.sessions, m.gatewayRequests,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pfs_open_uploads", Help: "Staged writes held open.",
		}, func() float64 { return float64(s.uploads.count()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pfs_open_handles", Help: "Files that clients hold open.",
		}, func() float64 { return float64(s.handles.count()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pfs_requests_at_work", Help: "Requests being served now.",
		}, func() float64 { return float64(s.requests.taken()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pfs_requests_waiting", Help: "Requests that wait for a place.",
		}, func() float64 { return float64(s.requests.queue.Waiting()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pfs_turns_waiting", Help: "Steps of long computations that wait for a processor.",
		}, func() float64 { return float64(s.turns.Waiting()) }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Metrics serves the metrics in Prometheus' text format.
func (s *Server) Metrics() http.Handler {
	h := promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, pace.Begin(w, r)) })
}

// observe counts an ended request.
func (m *metrics) observe(r *http.Request, body *meteredBody, rec *recorder, took time.Duration) {
	op := operation(r)
	m.requests.WithLabelValues(op, strconv.Itoa(rec.status)).Inc()
	m.seconds.WithLabelValues(op).Observe(took.Seconds())
	m.received.Add(float64(body.bytes))
	m.sent.Add(float64(rec.bytes))
}

func (m *metrics) failed(k pfs.Kind) { m.failures.WithLabelValues(k.Error()).Inc() }

// operation returns the label of the request: one of a fixed set, whatever a client sends.
func operation(r *http.Request) string {
	_, pattern, _ := strings.Cut(r.Pattern, " ")
	if call, ok := strings.CutPrefix(pattern, wire.PathCall); ok {
		return call
	}
	switch pattern {
	case wire.PathData, wire.PathWrite:
		return strings.ToLower(r.Method) + "-" + strings.TrimPrefix(pattern, "/v1/")
	case "", "/":
		return "unknown"
	}
	return strings.TrimPrefix(strings.TrimPrefix(pattern, "/v1"), "/")
}

// recorder remembers the status and length of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// meteredBody counts the bytes read of a request's body, because the stated length may be
// anything, even without an account.
type meteredBody struct {
	io.ReadCloser
	bytes int64
}

func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += int64(n)
	return n, err
}
