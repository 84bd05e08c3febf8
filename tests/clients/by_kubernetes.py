"""Python's `kubernetes` against a server with the CRD of books: by_kubernetes.py KUBECONFIG

What programs do with it: custom objects, built-in kinds, patches of each kind, pages, watches, the dynamic client, errors.
"""
import base64
import sys
import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

NAMESPACE = 'python'
BOOKS = dict(group='library.example.com', version='v1', namespace=NAMESPACE, plural='books')


def book(name, **spec):
    return {
        'apiVersion': 'library.example.com/v1', 'kind': 'Book',
        'metadata': {'name': name, 'labels': {'made': 'by-python'}}, 'spec': {'title': 'About ' + name, **spec},
    }


def refused(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except ApiException as error:
        return error.status, error.reason
    raise AssertionError(f'{call.__name__} was not refused')


def custom_objects(api):
    made = api.create_namespaced_custom_object(body=book('a', pages=3), **BOOKS)
    assert made['metadata']['uid'] and made['spec']['lent'] is False, made
    assert refused(api.create_namespaced_custom_object, body=book('a'), **BOOKS)[0] == 409
    assert refused(api.create_namespaced_custom_object, body=book('x', genre='poem'), **BOOKS)[0] == 422
    assert refused(api.get_namespaced_custom_object, name='none', **BOOKS)[0] == 404

    made['spec']['pages'] = 4
    replaced = api.replace_namespaced_custom_object(name='a', body=made, **BOOKS)
    assert replaced['metadata']['generation'] == 2, replaced
    assert refused(api.replace_namespaced_custom_object, name='a', body=made, **BOOKS)[0] == 409

    merged = api.patch_namespaced_custom_object(name='a', body={'spec': {'pages': 5}}, **BOOKS)
    assert merged['spec']['pages'] == 5, merged
    listed = api.patch_namespaced_custom_object(
        name='a', body=[{'op': 'replace', 'path': '/spec/pages', 'value': 6}], _content_type='application/json-patch+json', **BOOKS)
    assert listed['spec']['pages'] == 6, listed
    status = api.patch_namespaced_custom_object_status(name='a', body={'status': {'readers': 2}}, **BOOKS)
    assert (status['status']['readers'], status['metadata']['generation']) == (2, listed['metadata']['generation']), status
    scale = api.patch_namespaced_custom_object_scale(name='a', body={'spec': {'replicas': 7}}, **BOOKS)
    assert scale['kind'] == 'Scale' and scale['spec']['replicas'] == 7, scale


def pages(api):
    for index in range(5):
        api.create_namespaced_custom_object(body=book(f'page-{index}'), **BOOKS)
    names, token = [], None
    while True:
        page = api.list_namespaced_custom_object(limit=2, _continue=token, label_selector='made=by-python', **BOOKS)
        assert len(page['items']) <= 2
        names += [item['metadata']['name'] for item in page['items']]
        token = page['metadata'].get('continue')
        if not token:
            break
    assert names == ['a'] + [f'page-{index}' for index in range(5)], names
    only = api.list_namespaced_custom_object(field_selector='metadata.name=page-3', **BOOKS)
    assert [item['metadata']['name'] for item in only['items']] == ['page-3']


def watches(api):
    start = api.list_namespaced_custom_object(**BOOKS)['metadata']['resourceVersion']
    seen, all_seen = [], threading.Event()
    watcher = watch.Watch()

    def follow():
        for event in watcher.stream(api.list_namespaced_custom_object, resource_version=start, timeout_seconds=60, **BOOKS):
            seen.append((event['type'], event['object']['metadata']['name']))
            if event['type'] == 'DELETED':
                watcher.stop()
        all_seen.set()

    threading.Thread(target=follow, daemon=True).start()
    api.create_namespaced_custom_object(body=book('watched'), **BOOKS)
    api.patch_namespaced_custom_object(name='watched', body={'spec': {'pages': 2}}, **BOOKS)
    api.delete_namespaced_custom_object(name='watched', **BOOKS)
    assert all_seen.wait(60), seen
    assert seen == [('ADDED', 'watched'), ('MODIFIED', 'watched'), ('DELETED', 'watched')], seen


def built_in_kinds(core):
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name='pull'), string_data={'k': 'v'})
    assert core.create_namespaced_secret(NAMESPACE, secret).data == {'k': base64.b64encode(b'v').decode()}
    core.patch_namespaced_secret('pull', NAMESPACE, {'stringData': {'more': 'w'}})
    assert sorted(core.read_namespaced_secret('pull', NAMESPACE).data) == ['k', 'more']
    core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name='c'), data={'a': 'b'}))
    # A strategic merge patch: what this client sends for built-in kinds.
    core.patch_namespaced_config_map('c', NAMESPACE, {'data': {'b': 'c'}})
    assert core.read_namespaced_config_map('c', NAMESPACE).data == {'a': 'b', 'b': 'c'}
    assert NAMESPACE in [item.metadata.name for item in core.list_namespace().items]
    core.delete_namespaced_secret('pull', NAMESPACE)
    assert refused(core.read_namespaced_secret, 'pull', NAMESPACE)[0] == 404

    leases = client.CoordinationV1Api()
    lease = client.V1Lease(metadata=client.V1ObjectMeta(name='l'), spec=client.V1LeaseSpec(holder_identity='me', lease_duration_seconds=15))
    leases.create_namespaced_lease(NAMESPACE, lease)
    assert leases.read_namespaced_lease('l', NAMESPACE).spec.holder_identity == 'me'
    definitions = client.ApiextensionsV1Api().list_custom_resource_definition().items
    assert 'books.library.example.com' in [item.metadata.name for item in definitions]


def dynamically(any_client):
    books = dynamic.DynamicClient(any_client).resources.get(api_version='library.example.com/v1', kind='Book')
    applied = books.server_side_apply(
        body=book('applied', pages=1), name='applied', namespace=NAMESPACE, field_manager='python')
    assert applied.metadata.managedFields[0].operation == 'Apply', applied
    conflict = refused(
        books.server_side_apply, body=book('applied', pages=2), name='applied', namespace=NAMESPACE, field_manager='other')
    assert conflict[0] == 409, conflict
    assert [item.metadata.name for item in books.get(namespace=NAMESPACE, label_selector='made=by-python').items][:2] == ['a', 'applied']
    books.delete(namespace=NAMESPACE, label_selector='made=by-python')
    assert books.get(namespace=NAMESPACE).items == []


def main():
    config.load_kube_config(sys.argv[1])
    api, core = client.CustomObjectsApi(), client.CoreV1Api()
    assert client.VersionApi().get_code().major == '1'
    custom_objects(api)
    pages(api)
    watches(api)
    built_in_kinds(core)
    dynamically(client.ApiClient())
    print('all is well')


main()
