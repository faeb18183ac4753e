package main

import (
	"bytes"
	"context"
	_ "embed" // the stages
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/testjob"
)

//go:embed stages.yaml
var stages []byte

const (
	// simulated is the label of KWOK's nodes and the taint that keeps real pods away.
	simulated = "kwok.x-k8s.io/node"
	// podsPerMachine is what kubelet allows in common clusters.
	podsPerMachine = 250
)

// simulate makes enough nodes for a number of pods.
func simulate(ctx context.Context, user testjob.User, pods int) error {
	if err := applyStages(ctx, user); err != nil {
		return err
	}
	for i := range pods/podsPerMachine + 1 {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("simulated-%03d", i), Labels: map[string]string{simulated: "fake"}, Annotations: map[string]string{simulated: "fake"},
			},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: simulated, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}},
		}
		if err := user.Client.Create(ctx, node); err != nil {
			return fmt.Errorf("make a simulated node: %w", err)
		}
		bare := node.DeepCopy()
		node.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("256"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse(fmt.Sprint(podsPerMachine)),
		}
		node.Status.Allocatable = node.Status.Capacity
		// A patch: KWOK writes to the node too, as soon as it is there.
		if err := user.Client.Status().Patch(ctx, node, client.MergeFrom(bare)); err != nil {
			return fmt.Errorf("make a simulated node: %w", err)
		}
	}
	return nil
}

func applyStages(ctx context.Context, user testjob.User) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(stages), 4096)
	for {
		stage := &unstructured.Unstructured{}
		err := decoder.Decode(&stage.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && stage.Object != nil {
			//nolint:staticcheck // client.Apply wants apply configurations, which KWOK has not
			err = user.Client.Patch(ctx, stage, client.Apply, client.FieldOwner("lockstep-bench"), client.ForceOwnership)
		}
		if err != nil {
			return fmt.Errorf("tell KWOK how pods live: %w", err)
		}
	}
}

// forgetMachines removes the simulated nodes.
func forgetMachines(ctx context.Context, user testjob.User) error {
	return user.Client.DeleteAllOf(ctx, &corev1.Node{}, client.MatchingLabels{simulated: "fake"})
}

// onSimulated sends the pods of a runtime to the simulated nodes.
func onSimulated(spec *trainer.TrainingRuntimeSpec) {
	jobs := spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		pod.NodeSelector = map[string]string{simulated: "fake"}
		pod.Affinity, pod.TopologySpreadConstraints = nil, nil
		pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: simulated, Operator: corev1.TolerationOpExists})
		// A readiness that nobody probes.
		for j := range pod.Containers {
			pod.Containers[j].ReadinessProbe = nil
		}
	}
}
