// Command render is the Cluster API operator's own rendering, without a cluster: each line of standard input is a
// request in JSON, each line of standard output its answer.
//
//	{"provider": {...}, "objects": [ConfigMaps and Secrets]}  ->  {"version", "contract", "objects"} or {"error"}
//	{"typed": [objects]}                                      ->  {"objects"} after a walk through Go's types
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apijson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	operatorv1 "sigs.k8s.io/cluster-api-operator/api/v1alpha2"
	providercontroller "sigs.k8s.io/cluster-api-operator/controller"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// What the operator wants of a provider.
type genericProvider interface {
	client.Object
	operatorv1.GenericProvider
}

// Whole numbers are read as such, as an API server does.
type request struct {
	Provider map[string]any
	Objects  []map[string]any
	Typed    []map[string]any
}

func read(line []byte) (asked request, err error) {
	given := map[string]any{}
	if err := apijson.Unmarshal(line, &given); err != nil {
		return asked, err
	}
	asked.Provider, _ = given["provider"].(map[string]any)
	asked.Objects = list(given["objects"])
	asked.Typed = list(given["typed"])
	return asked, nil
}

func list(given any) (all []map[string]any) {
	values, _ := given.([]any)
	for _, value := range values {
		if object, ok := value.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

type answer struct {
	Version  string           `json:"version,omitempty"`
	Contract string           `json:"contract,omitempty"`
	Objects  []map[string]any `json:"objects,omitempty"`
	Error    string           `json:"error,omitempty"`
}

func main() {
	log.SetLogger(logr.Discard())
	must(operatorv1.AddToScheme(scheme.Scheme))
	must(clusterctlv1.AddToScheme(scheme.Scheme))
	must(apiextensionsv1.AddToScheme(scheme.Scheme))
	reader, writer := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		must(err)
		asked, err := read(line)
		must(err)
		told := answered(asked)
		written, err := json.Marshal(told)
		must(err)
		_, err = writer.Write(append(written, '\n'))
		must(err)
		must(writer.Flush())
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Go's own crashes are answers too.
func answered(asked request) (told answer) {
	defer func() {
		if crash := recover(); crash != nil {
			told = answer{Error: fmt.Sprintf("panic: %v", crash)}
		}
	}()
	var err error
	if asked.Provider == nil {
		told.Objects, err = typed(asked.Typed)
	} else {
		told, err = rendered(asked)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return told
}

// What an API server makes of the kinds that it has types for, defaults aside.
func typed(objects []map[string]any) ([]map[string]any, error) {
	var all []map[string]any
	for _, object := range objects {
		given := &unstructured.Unstructured{Object: object}
		known, err := scheme.Scheme.New(given.GroupVersionKind())
		if err == nil {
			made := &unstructured.Unstructured{}
			// What its type does not take stays as it is: an API server would refuse it from both sides.
			if scheme.Scheme.Convert(given, known, nil) == nil && scheme.Scheme.Convert(known, made, nil) == nil {
				object = made.Object
			}
		}
		all = append(all, object)
	}
	return all, nil
}

func rendered(asked request) (answer, error) {
	defaulted(asked.Provider)
	object := &unstructured.Unstructured{Object: asked.Provider}
	known, err := scheme.Scheme.New(object.GroupVersionKind())
	if err != nil {
		return answer{}, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(asked.Provider, known, true); err != nil {
		return answer{}, err
	}
	provider, ok := known.(genericProvider)
	if !ok {
		return answer{}, fmt.Errorf("%s is no provider", object.GetKind())
	}
	// The webhook's defaults.
	spec := provider.GetSpec()
	if spec.ConfigSecret != nil && spec.ConfigSecret.Namespace == "" {
		spec.ConfigSecret.Namespace = provider.GetNamespace()
	}
	if spec.AdditionalManifestsRef != nil && spec.AdditionalManifestsRef.Namespace == "" {
		spec.AdditionalManifestsRef.Namespace = provider.GetNamespace()
	}
	provider.SetSpec(spec)

	stored := []client.Object{provider.DeepCopyObject().(client.Object)}
	for _, object := range asked.Objects {
		given := &unstructured.Unstructured{Object: object}
		known, err := scheme.Scheme.New(given.GroupVersionKind())
		if err != nil {
			return answer{}, err
		}
		if err := scheme.Scheme.Convert(given, known, nil); err != nil {
			return answer{}, err
		}
		// As an API server stores it.
		if secret, ok := known.(*corev1.Secret); ok {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			for key, value := range secret.StringData {
				secret.Data[key] = []byte(value)
			}
			secret.StringData = nil
		}
		stored = append(stored, known.(client.Object))
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(stored...).Build()

	var made []map[string]any
	last := func(objects []unstructured.Unstructured) ([]unstructured.Unstructured, error) {
		for _, object := range objects {
			made = append(made, object.Object)
		}
		return objects, nil
	}
	reconciler := providercontroller.GenericProviderReconciler{Client: cluster}
	phases := providercontroller.NewPhaseReconciler(reconciler, provider, &operatorv1.CoreProviderList{},
		providercontroller.WithProviderLister(noOthers),
		providercontroller.WithCustomAlterComponentsFuncs([]repository.ComponentsAlterFn{last}))
	ctx := ctrl.LoggerInto(context.Background(), logr.Discard())
	for _, phase := range []providercontroller.PhaseFn{phases.InitializePhaseReconciler, phases.Load, phases.Fetch, phases.ReportStatus} {
		if _, err := phase(ctx); err != nil {
			return answer{}, err
		}
	}
	status := provider.GetStatus()
	told := answer{Objects: made}
	if status.InstalledVersion != nil {
		told.Version = *status.InstalledVersion
	}
	if status.Contract != nil {
		told.Contract = *status.Contract
	}
	return told, nil
}

func noOthers(context.Context, *clusterctlv1.ProviderList, ...providercontroller.ProviderOperation) error {
	return nil
}

// The one default of the definitions.
func defaulted(provider map[string]any) {
	spec, _ := provider["spec"].(map[string]any)
	managers := []any{spec["manager"]}
	additional, _ := spec["additionalDeployments"].(map[string]any)
	for _, one := range additional {
		if one, ok := one.(map[string]any); ok {
			managers = append(managers, one["manager"])
		}
	}
	for _, manager := range managers {
		if manager, ok := manager.(map[string]any); ok {
			if _, set := manager["verbosity"]; !set {
				manager["verbosity"] = int64(1)
			}
		}
	}
}
