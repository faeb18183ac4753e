package integration

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"lockstep.dev/lockstep/pkg/dashboard"
)

// counted counts the requests to an API server.
type counted struct {
	http.RoundTripper
	requests *atomic.Int64
}

func (c counted) RoundTrip(request *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(request)
}

var _ = Describe("Many pages", ofTheCompiler, func() {
	const users, pages = 10, 20 // pages of each

	It("of a user share one watch, and pages of two users share none", func(ctx SpecContext) {
		jobs, minute := 20, 3*time.Second
		if os.Getenv("LOCKSTEP_MEASURE") != "" {
			jobs, minute = 1000, time.Minute
		}
		namespace := newNamespace(ctx)
		tenantRoles(ctx)
		bindEditors(ctx, namespace)
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, runtimeNamed("openmpi")))).To(Succeed())
		for i := range jobs {
			Expect(admin.Create(ctx, trainJobNamed(namespace, fmt.Sprintf("crowd-%04d", i)))).To(Succeed())
		}
		before := heap()
		var requests [users]atomic.Int64
		var shown atomic.Int64
		limited, over := context.WithCancel(ctx)
		defer over()
		serving, end := context.WithCancel(context.Background())
		DeferCleanup(end)
		known := map[string]dashboard.User{}
		for u := range users {
			name := fmt.Sprintf("user-%d", u)
			made, err := environment.AddUser(envtest.User{Name: name, Groups: []string{cliGroup, "system:authenticated"}}, nil)
			Expect(err).NotTo(HaveOccurred())
			config := rest.CopyConfig(made.Config())
			config.QPS = -1
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &requests[u]} })
			known[name] = dashboard.User{Key: name, Config: config, Namespace: namespace}
		}
		who := func(r *http.Request) (dashboard.User, error) { return known[r.Header.Get("User")], nil }
		server := httptest.NewServer(dashboard.New(serving, "v0", who, dashboard.SharedLimits()))
		DeferCleanup(func() { server.CloseClientConnections(); server.Close() })
		began := time.Now()
		for name := range known {
			for range pages {
				stream := server.URL + "/api/v1/trainjobs/stream?namespace=" + namespace
				request, err := http.NewRequestWithContext(limited, http.MethodGet, stream, nil)
				Expect(err).NotTo(HaveOccurred())
				request.Header.Set("User", name)
				go read(request, &shown)
			}
		}
		Eventually(shown.Load).WithTimeout(5 * time.Minute).Should(BeEquivalentTo(users * pages))
		AddReportEntry("seconds until all pages have all jobs", time.Since(began).Seconds())
		var first [users]int64
		for u := range users {
			first[u] = requests[u].Load()
		}
		since := time.Now()
		for ; time.Since(since) < minute; time.Sleep(time.Second) {
			changed := trainJobNamed(namespace, "crowd-0007")
			Expect(admin.Patch(ctx, changed, client.RawPatch("application/merge-patch+json",
				fmt.Appendf(nil, `{"metadata":{"labels":{"at":"%d"}}}`, time.Now().UnixNano())))).To(Succeed())
		}
		AddReportEntry("heap of the dashboard and its readers, MiB", float64(heap()-before)/(1<<20))
		var later [users]int64
		for u := range users {
			later[u] = requests[u].Load() - first[u]
		}
		seconds := time.Since(since).Seconds()
		for u := range users {
			Expect(first[u]).To(BeNumerically(">", 0), "each user asks with the own rights")
			Expect(first[u]).To(BeNumerically("<", pages), "twenty pages do not ask twenty times")
			Expect(later[u]).To(BeNumerically("<=", 3*seconds+10), "nor do they follow twenty times")
		}
		AddReportEntry("requests of one user, to begin and then a second",
			fmt.Sprintf("%d, %.1f", first[0], float64(later[0])/seconds))
	})
})

// read reads the events of a page to their end, and counts the page when it has its first, which is the whole list.
func read(request *http.Request, shown *atomic.Int64) {
	defer GinkgoRecover()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return // the spec is over
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewReaderSize(answer.Body, 32<<10)
	for first := true; ; {
		line, long, err := lines.ReadLine()
		if err != nil {
			return
		}
		if first && bytes.HasPrefix(line, []byte("data: ")) {
			for long && err == nil {
				_, long, err = lines.ReadLine()
			}
			shown.Add(1)
			first = false
		}
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
