// Package deploy has no code, only the test that the files of this folder are what
// they are meant to be.
package deploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// kinds are the types that a manifest may be of.
var kinds = map[string]func() runtime.Object{
	"v1/ConfigMap":                       func() runtime.Object { return &corev1.ConfigMap{} },
	"v1/Service":                         func() runtime.Object { return &corev1.Service{} },
	"apps/v1/Deployment":                 func() runtime.Object { return &appsv1.Deployment{} },
	"batch/v1/CronJob":                   func() runtime.Object { return &batchv1.CronJob{} },
	"policy/v1/PodDisruptionBudget":      func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
	"networking.k8s.io/v1/NetworkPolicy": func() runtime.Object { return &networkingv1.NetworkPolicy{} },
}

// manifests decodes every document of the folder, refusing unknown and doubled
// fields, by file and kind.
func manifests(t *testing.T) map[string]runtime.Object {
	t.Helper()
	paths, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	all := map[string]runtime.Object{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			var of struct{ APIVersion, Kind string }
			if err := strict.Unmarshal(document, &of); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			kind := of.APIVersion + "/" + of.Kind
			if kinds[kind] == nil {
				t.Fatalf("%s: no type is known for %s", path, kind)
			}
			object := kinds[kind]()
			if err := strict.UnmarshalStrict(document, object); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			all[path+" "+of.Kind] = object
		}
	}
	return all
}

// flags are the settings of serve, as its help lists them.
func flags(t *testing.T) map[string]bool {
	t.Helper()
	help, err := os.ReadFile("../internal/app/testdata/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"REFEREE_KEYS": true}
	for _, found := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(string(help), -1) {
		known["REFEREE_"+strings.ToUpper(strings.ReplaceAll(found[1], "-", "_"))] = true
	}
	if len(known) < 10 {
		t.Fatalf("only %d settings found", len(known))
	}
	return known
}

func TestKubernetes(t *testing.T) {
	all, known := manifests(t), flags(t)
	config := all["kubernetes/config.yaml ConfigMap"].(*corev1.ConfigMap)
	for name := range config.Data {
		if !known[name] {
			t.Errorf("config.yaml: serve has no setting %s", name)
		}
	}
	deployment := all["kubernetes/deployment.yaml Deployment"].(*appsv1.Deployment)
	pod := deployment.Spec.Template
	for key, value := range deployment.Spec.Selector.MatchLabels {
		if pod.Labels[key] != value {
			t.Errorf("deployment.yaml: the pods lack the label %s=%s", key, value)
		}
	}
	service := all["kubernetes/service.yaml Service"].(*corev1.Service)
	budget := all["kubernetes/disruption.yaml PodDisruptionBudget"].(*policyv1.PodDisruptionBudget)
	for name, selector := range map[string]map[string]string{"service.yaml": service.Spec.Selector, "disruption.yaml": budget.Spec.Selector.MatchLabels} {
		for key, value := range selector {
			if pod.Labels[key] != value {
				t.Errorf("%s selects by %s=%s, which the pods lack", name, key, value)
			}
		}
	}
	container := pod.Spec.Containers[0]
	ports := map[string]bool{}
	for _, port := range container.Ports {
		ports[port.Name] = true
	}
	for _, port := range service.Spec.Ports {
		if !ports[port.TargetPort.StrVal] {
			t.Errorf("service.yaml: the pods have no port %s", port.TargetPort.StrVal)
		}
	}
	for _, env := range container.Env {
		if strings.HasPrefix(env.Name, "REFEREE_") && !known[env.Name] {
			t.Errorf("deployment.yaml: serve has no setting %s", env.Name)
		}
	}
	if *deployment.Spec.Replicas < 2 || deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntVal != 0 || budget.Spec.MinAvailable.IntVal < 1 {
		t.Error("a roll-out or a drained node may leave no replica")
	}
	if *pod.Spec.TerminationGracePeriodSeconds < 20+container.Lifecycle.PreStop.Sleep.Seconds+5 {
		t.Error("a replica is killed before it has drained")
	}
	if !*pod.Spec.SecurityContext.RunAsNonRoot || !*container.SecurityContext.ReadOnlyRootFilesystem || *container.SecurityContext.AllowPrivilegeEscalation {
		t.Error("a replica may do more than it has to")
	}
}

func TestCompose(t *testing.T) {
	known := flags(t)
	options, err := cli.NewProjectOptions([]string{"compose/compose.yaml"}, cli.WithEnv([]string{"OWNER_PASSWORD=o", "REPLICA_PASSWORD=r"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	replicas := 0
	for name, service := range project.Services {
		if len(service.Command) > 0 && service.Command[0] == "serve" {
			replicas++
		}
		for variable := range service.Environment {
			if strings.HasPrefix(variable, "REFEREE_") && !known[variable] {
				t.Errorf("%s: serve has no setting %s", name, variable)
			}
		}
	}
	if replicas != 2 || project.Services["postgres"].HealthCheck == nil {
		t.Errorf("%d replicas", replicas)
	}
}

func TestAlerts(t *testing.T) {
	content, err := os.ReadFile("prometheus/referee.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := rulefmt.Parse(content, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestDashboard(t *testing.T) {
	content, err := os.ReadFile("grafana/referee.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	if len(board.Panels) < 10 {
		t.Errorf("%d panels", len(board.Panels))
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(target.Expr); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
		}
	}
}
