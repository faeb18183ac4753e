package compile

import "sync/atomic"

// runOrdered makes n values, up to so many at one time, and takes them in their order on the goroutine of the caller, until one is
// refused with an error. Values that wait for their turn are as few as there are workers, twice.
func runOrdered[T any](workers, n int, work func(i int) T, take func(T) error) error {
	if workers = min(workers, n); workers < 2 {
		for i := range n {
			if err := take(work(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return runAhead(workers, n, work, take)
}

// resultSlot is where a value comes when it is ready.
type resultSlot[T any] struct {
	i     int
	ready chan T
}

func runAhead[T any](workers, n int, work func(i int) T, take func(T) error) error {
	var refused atomic.Bool
	todo, window := make(chan resultSlot[T]), make(chan resultSlot[T], 2*workers)
	go func() {
		defer close(todo)
		defer close(window)
		for i := 0; i < n && !refused.Load(); i++ {
			s := resultSlot[T]{i: i, ready: make(chan T, 1)}
			window <- s
			todo <- s
		}
	}()
	for range workers {
		go func() {
			for s := range todo {
				s.ready <- work(s.i)
			}
		}()
	}
	var err error
	for s := range window {
		if value := <-s.ready; err == nil {
			err = take(value)
			refused.Store(err != nil)
		}
	}
	return err
}
