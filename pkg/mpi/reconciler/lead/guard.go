package lead

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The lease. A launcher waits for addresses while nobody leads, so a standby must take over within 5 s of the death of a leader: it looks
// at intervals of 1 to 2.2 times RetryPeriod (client-go's jitter), sees the last renewal at most one interval late, and the end of
// LeaseDuration at most another: 3 + 2 × 2.2 × 0.4 = 4.8 s. A leader that ends in order gives the lease back, and a container that starts
// again in its pod has it still.
//
// A leader works for heldFor after it sent the last renewal that succeeded, and a standby waits for LeaseDuration after it saw that
// renewal, which is later. So both never work at one time while their clocks run equally fast to a sixth; what they show does not matter.
// client-go's own RenewDeadline counts from a RetryPeriod later, and never comes first.
const (
	LeaseDuration = 3 * time.Second
	heldFor       = 2500 * time.Millisecond
	RenewDeadline = 2600 * time.Millisecond
	RetryPeriod   = 400 * time.Millisecond
)

// ErrLost is why a process stops its work.
var ErrLost = errors.New("the lease is lost: it could not be renewed in time, or somebody else holds it")

// Guard is the lock of the election, and ends what works under it in time. client-go alone does not: when it cannot renew, it first
// tries to give the lease back, for as long as RenewDeadline, while everything works on; and what it gives back may by then be the lease
// of somebody else.
type Guard struct {
	resourcelock.Interface
	// end ends what works under the lease.
	end func()

	mutex sync.Mutex
	// left runs while the lease is held.
	left         *time.Timer
	gone, closed bool
	// holder is whom the lease named last.
	holder string
}

// NewGuard returns the lock that the leader holds.
func NewGuard(config *rest.Config, namespace, identity string, end func()) (*Guard, error) {
	clients, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("create client for the lease: %w", err)
	}
	if identity == "" {
		identity = string(uuid.NewUUID())
	}
	return &Guard{end: end, Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: mpi.ControllerName},
		Client:     clients.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}, nil
}

// IsLost reports whether the lease was held and is not any more.
func (l *Guard) IsLost() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.gone
}

func (l *Guard) markLost() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.gone || l.closed {
		return
	}
	l.gone = true
	l.end()
}

// IgnoreLoss is for when nothing works under the lease any more: losing it ends nothing then, least of all what began after it.
func (l *Guard) IgnoreLoss() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
}

// Get reads the lease. Who held it and reads the name of somebody else has lost it. A standby tells renewals apart by the text that is
// returned, where client-go writes whole seconds: it would count LeaseDuration from the first renewal of a second, up to a second early.
func (l *Guard) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.IsLost() {
		return nil, nil, ErrLost
	}
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.mutex.Lock()
	l.holder = record.HolderIdentity
	robbed := l.left != nil && l.holder != l.Identity()
	l.mutex.Unlock()
	if robbed {
		l.markLost()
		return nil, nil, ErrLost
	}
	return record, record.RenewTime.AppendFormat(raw, time.RFC3339Nano), nil
}

// Create makes the lease.
func (l *Guard) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.writeRecord(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update takes the lease, renews it, or gives it back.
func (l *Guard) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.writeRecord(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *Guard) writeRecord(record resourcelock.LeaderElectionRecord, write func() error) error {
	l.mutex.Lock()
	foreign := record.HolderIdentity == "" && l.holder != l.Identity()
	gone := l.gone
	l.mutex.Unlock()
	if gone || foreign {
		return ErrLost
	}
	sent := time.Now()
	if err := write(); err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.gone {
		return ErrLost
	}
	if l.left != nil {
		l.left.Stop()
		l.left = nil
	}
	if l.holder = record.HolderIdentity; l.holder == l.Identity() {
		l.left = time.AfterFunc(time.Until(sent.Add(heldFor)), l.markLost)
	}
	return nil
}
