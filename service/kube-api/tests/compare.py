#!/usr/bin/env python3
"""Asks a real kube-apiserver and this one the same questions, and compares code and reason of the answers (with --all: every word).

    compare.py REAL-URL TOKEN CA-FILE OUR-URL TOKEN CA-FILE [--all]

Both serve the CRD of books and have an empty namespace `shelf`. The test `parity` does all that; ends with 1 when an answer differs that is
not in KNOWN.
"""
import json
import ssl
import sys
import urllib.error
import urllib.request

# Where we answer otherwise on purpose, and why.
KNOWN = {
    'put bad rv': 'a real server answers 500 for what is the client\'s mistake; we answer 400',
    'watch rv bad': 'the same',
    'post name': 'a real server creates under the collection; we say that the method is not offered',
    'apply name': 'a real server applies to the object of the URL under the other name; we refuse',
    'proto cr': 'a real server drops the connection',
}


def call(server, method, path, body=None, media_type='application/json', accept=None):
    data = body.encode() if isinstance(body, str) else (json.dumps(body).encode() if body is not None else None)
    base, token, context = server
    request = urllib.request.Request(base + path, data=data, method=method)
    if data is not None:
        request.add_header('Content-Type', media_type)
    request.add_header('Authorization', 'Bearer ' + token)
    if accept:
        request.add_header('Accept', accept)
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            code, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        code, text = error.code, error.read()
    except OSError as error:
        return 0, repr(error)[:60]
    try:
        return code, json.loads(text)
    except ValueError:
        return code, text.decode(errors='replace')


B = '/apis/library.example.com/v1/namespaces/shelf/books'
def book(name,**spec):
    s={'title':'About '+name}; s.update(spec)
    return {'apiVersion':'library.example.com/v1','kind':'Book','metadata':{'name':name},'spec':s}
def cases():
    yield 'create','POST',B,book('a',pages=10),None,None
    yield 'create again','POST',B,book('a'),None,None
    yield 'create b','POST',B,book('b',keywords={'k':'v'},chapters=[{'name':'x'}]),None,None
    yield 'no title','POST',B,{**book('x'),'spec':{}},None,None
    yield 'no spec','POST',B,{**book('x'),'spec':None},None,None
    yield 'enum','POST',B,book('x',genre='poem'),None,None
    yield 'type int','POST',B,{**book('x'),'spec':{'title':5}},None,None
    yield 'type obj','POST',B,{**book('x'),'spec':{'title':{}}},None,None
    yield 'type bool','POST',B,book('x',lent='yes'),None,None
    yield 'type map','POST',B,book('x',keywords=['x']),None,None
    yield 'type list','POST',B,book('x',chapters={}),None,None
    yield 'list el','POST',B,book('x',chapters=[{'name':'a'},{'name':'a'},{}]),None,None
    yield 'null in list','POST',B,book('x',chapters=[None]),None,None
    yield 'spec is text','POST',B,{**book('x'),'spec':'t'},None,None
    yield 'minimum','POST',B,book('x',pages=0),None,None
    yield 'float','POST',B,book('x',pages=1.5),None,None
    yield 'float that is whole','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n1"},"spec":{"title":"t","pages":5.0}}',None,None
    yield 'exponent','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n2"},"spec":{"title":"t","pages":1e2}}',None,None
    yield 'integer of 65 bits','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n3"},"spec":{"title":"t","pages":18446744073709551615}}',None,None
    yield 'exponent too large','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n4"},"spec":{"title":"t","pages":1e19}}',None,None
    yield 'largest integer','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n5"},"spec":{"title":"t","pages":9223372036854775807}}',None,None
    yield 'merge with a float','PATCH',B+'/n1','{"spec":{"pages":7.0}}','application/merge-patch+json',None
    yield 'json patch with a float','PATCH',B+'/n1','[{"op":"add","path":"/spec/pages","value":8.0}]','application/json-patch+json',None
    yield 'yaml with a float','POST',B,'{apiVersion: library.example.com/v1, kind: Book, metadata: {name: n6}, spec: {title: t, pages: 6.0}}','application/yaml',None
    yield 'apply with a float','PATCH',B+'/n7?fieldManager=x','{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n7"},"spec":{"title":"t","pages":5.0}}','application/apply-patch+yaml',None
    yield 'duplicate keys','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n8"},"spec":{"title":"t","pages":5,"pages":6}}',None,None
    yield 'null optional','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n9","labels":null,"annotations":{}},"spec":{"title":"t","lent":null}}',None,None
    yield 'empty maps','POST',B,'{"apiVersion":"library.example.com/v1","kind":"Book","metadata":{"name":"n10"},"spec":{"title":"t","keywords":{},"chapters":[]}}',None,None
    yield 'heartbeat null','PATCH',B+'/n1/status','[{"op":"add","path":"/status","value":{"conditions":[{"type":"Ready","status":"True","heartbeat":null}]}}]','application/json-patch+json',None
    yield 'secret of nulls','POST','/api/v1/namespaces/shelf/secrets','{"apiVersion":"v1","kind":"Secret","metadata":{"name":"n1","creationTimestamp":null,"labels":null},"data":null}',None,None
    yield 'lease of nulls','POST','/apis/coordination.k8s.io/v1/namespaces/shelf/leases','{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"n1","creationTimestamp":null},"spec":{"holderIdentity":"x","acquireTime":null,"renewTime":null}}',None,None
    yield 'event of nulls','POST','/api/v1/namespaces/shelf/events','{"apiVersion":"v1","kind":"Event","metadata":{"name":"n1","namespace":"shelf","creationTimestamp":null},"involvedObject":{"namespace":"shelf","name":"a","kind":"Book"},"reason":"R","message":"m","source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"series":null,"related":null,"type":"Normal","reportingComponent":"","reportingInstance":""}',None,None
    yield 'config map of nulls','POST','/api/v1/namespaces/shelf/configmaps','{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n1","ownerReferences":null},"data":{"a":"b"},"binaryData":null,"immutable":null}',None,None
    yield 'delete default','DELETE','/api/v1/namespaces/default',None,None,None
    yield 'delete kube-system','DELETE','/api/v1/namespaces/kube-system',None,None,None
    yield 'long','POST',B,{**book('x'),'spec':{'title':'x'*70}},None,None
    yield 'status bad','POST',B,{**book('x'),'status':{'readers':'x'}},None,None
    yield 'nameless','POST',B,{**book('x'),'metadata':{}},None,None
    yield 'bad name','POST',B,book('X_y'),None,None
    yield 'bad label','POST',B,{**book('x'),'metadata':{'name':'x','labels':{'a b':'c d'}}},None,None
    yield 'label number','POST',B,{**book('x'),'metadata':{'name':'x','labels':{'a':5}}},None,None
    yield 'bad finalizer','POST',B,{**book('x'),'metadata':{'name':'x','finalizers':['foo']}},None,None
    yield 'bad owner','POST',B,{**book('x'),'metadata':{'name':'x','ownerReferences':[{'apiVersion':'v1','kind':'K','name':'n'}]}},None,None
    yield 'rv on create','POST',B,{**book('x'),'metadata':{'name':'x','resourceVersion':'1'}},None,None
    yield 'elsewhere','POST',B,{**book('x'),'metadata':{'name':'x','namespace':'other'}},None,None
    yield 'no ns','POST','/apis/library.example.com/v1/namespaces/none/books',book('x'),None,None
    yield 'wrong kind','POST',B,{**book('x'),'kind':'Bock'},None,None
    yield 'wrong version','POST',B,{**book('x'),'apiVersion':'library.example.com/v2'},None,None
    yield 'no kind','POST',B,{k:v for k,v in book('x').items() if k!='kind'},None,None
    yield 'unknown strict','POST',B+'?fieldValidation=Strict',book('x',weight=3),None,None
    yield 'unknown strict meta','POST',B+'?fieldValidation=Strict',{**book('x'),'metadata':{'name':'x','foo':1}},None,None
    yield 'unknown warn','POST',B+'?dryRun=All',book('x',weight=3),None,None
    yield 'unknown ignore','POST',B+'?dryRun=All&fieldValidation=Ignore',book('x',weight=3),None,None
    yield 'bad fieldValidation','POST',B+'?fieldValidation=x',book('x'),None,None
    yield 'bad dryrun','POST',B+'?dryRun=x',book('x'),None,None
    yield 'put no rv','PUT',B+'/a',book('a',pages=2),None,None
    yield 'put stale','PUT',B+'/a',{**book('a'),'metadata':{'name':'a','resourceVersion':'1'}},None,None
    yield 'put bad rv','PUT',B+'/a',{**book('a'),'metadata':{'name':'a','resourceVersion':'x'}},None,None
    yield 'put name','PUT',B+'/a',book('b'),None,None
    yield 'put missing','PUT',B+'/zz',book('zz'),None,None
    yield 'put uid','PUT',B+'/a',{**book('a'),'metadata':{'name':'a','uid':'zz'}},None,None
    yield 'get missing','GET',B+'/zz',None,None,None
    yield 'delete missing','DELETE',B+'/zz',None,None,None
    yield 'delete uid','DELETE',B+'/a',{'preconditions':{'uid':'zz'}},None,None
    yield 'delete rv','DELETE',B+'/a',{'preconditions':{'resourceVersion':'1'}},None,None
    yield 'delete policy','DELETE',B+'/a?propagationPolicy=x',None,None,None
    yield 'sub missing','GET',B+'/a/log',None,None,None
    yield 'post name','POST',B+'/a',book('a'),None,None
    yield 'patch strategic','PATCH',B+'/a',{},'application/strategic-merge-patch+json',None
    yield 'patch json type','PATCH',B+'/a',{},'application/json',None
    yield 'patch merge list','PATCH',B+'/a','[]','application/merge-patch+json',None
    yield 'patch merge bad','PATCH',B+'/a','{','application/merge-patch+json',None
    yield 'patch json bad','PATCH',B+'/a','{','application/json-patch+json',None
    yield 'patch json miss','PATCH',B+'/a',[{'op':'remove','path':'/spec/none'}],'application/json-patch+json',None
    yield 'patch json test','PATCH',B+'/a',[{'op':'test','path':'/spec/title','value':'x'}],'application/json-patch+json',None
    yield 'patch json op','PATCH',B+'/a',[{'op':'foo','path':'/spec/title','value':'x'}],'application/json-patch+json',None
    yield 'patch rv','PATCH',B+'/a',{'metadata':{'resourceVersion':'1'},'spec':{'pages':3}},'application/merge-patch+json',None
    yield 'patch uid','PATCH',B+'/a',{'metadata':{'uid':'x'},'spec':{'pages':3}},'application/merge-patch+json',None
    yield 'patch name','PATCH',B+'/a',{'metadata':{'name':'x'}},'application/merge-patch+json',None
    yield 'patch ns','PATCH',B+'/a',{'metadata':{'namespace':'x'}},'application/merge-patch+json',None
    yield 'patch enum','PATCH',B+'/a',{'spec':{'genre':'poem'}},'application/merge-patch+json',None
    yield 'patch title','PATCH',B+'/a',{'spec':{'title':'poem'}},'application/merge-patch+json',None
    yield 'patch unknown strict','PATCH',B+'/a?fieldValidation=Strict',{'spec':{'weight':1}},'application/merge-patch+json',None
    yield 'patch missing','PATCH',B+'/zz',{'spec':{}},'application/merge-patch+json',None
    yield 'apply no manager','PATCH',B+'/a','{}','application/apply-patch+yaml',None
    yield 'apply empty','PATCH',B+'/a?fieldManager=x','{}','application/apply-patch+yaml',None
    yield 'apply conflict','PATCH',B+'/a?fieldManager=x',book('a',pages=12),'application/apply-patch+yaml',None
    yield 'apply 2 conflicts','PATCH',B+'/a?fieldManager=x',book('a',pages=12,lent=True),'application/apply-patch+yaml',None
    yield 'apply managed','PATCH',B+'/a?fieldManager=x',{**book('a'),'metadata':{'name':'a','managedFields':[]}},'application/apply-patch+yaml',None
    yield 'apply managed2','PATCH',B+'/a?fieldManager=x',{**book('a'),'metadata':{'name':'a','managedFields':[{'manager':'x'}]}},'application/apply-patch+yaml',None
    yield 'apply name','PATCH',B+'/a?fieldManager=x',book('b'),'application/apply-patch+yaml',None
    yield 'apply unknown','PATCH',B+'/a?fieldManager=x&fieldValidation=Strict',book('a',weight=1),'application/apply-patch+yaml',None
    yield 'scale negative','PATCH',B+'/a/scale',{'spec':{'replicas':-1}},'application/merge-patch+json',None
    yield 'scale ok','PATCH',B+'/a/scale?dryRun=All',{'spec':{'replicas':1}},'application/merge-patch+json',None
    yield 'text body','POST',B,'x','text/plain',None
    yield 'bad json','POST',B,'{','application/json',None
    yield 'json list','POST',B,'[]','application/json',None
    yield 'bad yaml','POST',B,'a: [','application/yaml',None
    yield 'bad proto','POST','/api/v1/namespaces/shelf/secrets','{}','application/vnd.kubernetes.protobuf',None
    yield 'proto cr','POST',B,'{}','application/vnd.kubernetes.protobuf',None
    yield 'accept','GET',B,None,None,'text/html'
    yield 'field sel','GET',B+'?fieldSelector=spec.pages%3D1',None,None,None
    yield 'field sel bad','GET',B+'?fieldSelector=spec',None,None,None
    yield 'label sel bad','GET',B+'?labelSelector=a+b',None,None,None
    yield 'label sel bad2','GET',B+'?labelSelector=a+in+(x',None,None,None
    yield 'label sel bad3','GET',B+'?labelSelector=a%3Db+c',None,None,None
    yield 'limit bad','GET',B+'?limit=x',None,None,None
    yield 'continue bad','GET',B+'?continue=x',None,None,None
    yield 'rv future','GET',B+'?resourceVersion=99999999&resourceVersionMatch=Exact',None,None,None
    yield 'rv future nolt','GET',B+'?resourceVersion=99999999&resourceVersionMatch=NotOlderThan',None,None,None
    yield 'rv exact 0','GET',B+'?resourceVersion=0&resourceVersionMatch=Exact',None,None,None
    yield 'rv match none','GET',B+'?resourceVersionMatch=Exact',None,None,None
    yield 'rv match bad','GET',B+'?resourceVersion=1&resourceVersionMatch=x',None,None,None
    yield 'rv bad','GET',B+'?resourceVersion=x',None,None,None
    yield 'send list','GET',B+'?sendInitialEvents=true',None,None,None
    yield 'send no match','GET',B+'?watch=1&sendInitialEvents=true',None,None,None
    yield 'match no send','GET',B+'?watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan',None,None,None
    yield 'watch rv bad','GET',B+'?watch=1&resourceVersion=x&timeoutSeconds=1',None,None,None
    yield 'unknown res','GET','/apis/library.example.com/v1/namespaces/shelf/shelves',None,None,None
    yield 'unknown group','GET','/apis/none.example.com/v1',None,None,None
    yield 'big 3M','POST',B,book('big',keywords={'k':'x' * (3 << 20)}),None,None
    yield 'big 2M','POST',B,book('big',keywords={'k':'x'*(2<<20)}),None,None
    yield 'annotations','POST',B,{**book('x'),'metadata':{'name':'x','annotations':{'a':'x'*(300<<10)}}},None,None
    yield 'secret wrong type','POST','/api/v1/namespaces/shelf/secrets',{'metadata':{'name':'s'},'data':5},None,None
    yield 'secret bad b64','POST','/api/v1/namespaces/shelf/secrets',{'metadata':{'name':'s'},'data':{'a':'%'}},None,None
    yield 'secret bad key','POST','/api/v1/namespaces/shelf/secrets',{'metadata':{'name':'s'},'data':{'a b':'YQ=='}},None,None
    yield 'secret docker','POST','/api/v1/namespaces/shelf/secrets',{'metadata':{'name':'s'},'type':'kubernetes.io/dockerconfigjson'},None,None
    yield 'secret ok','POST','/api/v1/namespaces/shelf/secrets',{'metadata':{'name':'s'},'data':{'a':'YQ=='}},None,None
    yield 'secret type change','PATCH','/api/v1/namespaces/shelf/secrets/s',{'type':'x'},'application/merge-patch+json',None
    yield 'secret sel','GET','/api/v1/namespaces/shelf/secrets?fieldSelector=foo%3D1',None,None,None
    yield 'secret strict','POST','/api/v1/namespaces/shelf/secrets?fieldValidation=Strict',{'metadata':{'name':'t'},'foo':1},None,None
    yield 'ns name','POST','/api/v1/namespaces',{'metadata':{'name':'a.b'}},None,None
    yield 'event ns','POST','/api/v1/namespaces/shelf/events',{'metadata':{'name':'e'},'involvedObject':{'namespace':'other'}},None,None
    yield 'csr empty','POST','/apis/certificates.k8s.io/v1/certificatesigningrequests',{'metadata':{'name':'e'},'spec':{}},None,None
    yield 'delete','DELETE',B+'/a',None,None,None
    yield 'delete secret','DELETE','/api/v1/namespaces/shelf/secrets/s',None,None,None
    yield 'deletecollection','DELETE',B,None,None,None
    yield 'api','GET','/api',None,None,None


# Members that differ from server to server, or with the time.
VOLATILE = {'uid', 'creationTimestamp', 'resourceVersion', 'managedFields', 'generation', 'selfLink', 'deletionTimestamp'}
SECTIONS = ('spec', 'data', 'stringData', 'involvedObject', 'reason', 'message', 'type', 'count')


def stored(body):
    """What a write left in an object of one of ours or of the core, without what differs from server to server."""
    metadata = {name: value for name, value in body.get('metadata', {}).items() if name not in VOLATILE}
    return {'metadata': metadata, **{name: body[name] for name in SECTIONS if name in body}, **({'status': body['status']} if body.get('kind') == 'Book' and 'status' in body else {})}


def shown(answer):
    code, body = answer
    if not isinstance(body, dict):
        return [code, body[:200]]
    if body.get('kind') != 'Status':
        return [code, body.get('kind')]
    details = body.get('details') or {}
    kept = {member: details[member] for member in ('kind', 'group', 'name', 'causes') if member in details}
    return [code, body.get('reason'), body.get('message'), kept]


def main():
    places, is_all = sys.argv[1:7], '--all' in sys.argv
    servers = [(url, token, ssl.create_default_context(cafile=ca)) for url, token, ca in (places[:3], places[3:])]
    count = same = messages = 0
    unknown = []
    for name, method, path, body, media_type, accept in cases():
        raw = [call(server, method, path, body, media_type or 'application/json', accept) for server in servers]
        answers = [shown(answer) for answer in raw]
        count += 1
        if any(code == 0 for code, *_ in answers) and name not in KNOWN:
            sys.exit(f'{name}: no answer: {answers}')
        is_same = answers[0][:2] == answers[1][:2]
        if is_same and method in ('POST', 'PUT', 'PATCH') and all(isinstance(body, dict) and code < 300 for code, body in raw):
            objects = [json.dumps(stored(body), sort_keys=True) for _, body in raw]
            if objects[0] != objects[1]:
                is_same = False
                print(f'== {name}: stored')
                for who, text in zip(('real', 'ours'), objects):
                    print(f'   {who} {text[:600]}')
        same += is_same
        messages += answers[0] == answers[1]
        if not is_same and name not in KNOWN:
            unknown.append(name)
        if answers[0] != answers[1] and (is_all or not is_same):
            print(f'== {name}' + (f': {KNOWN[name]}' if name in KNOWN else ''))
            for who, answer in zip(('real', 'ours'), answers):
                print(f'   {who} {json.dumps(answer)[:600]}')
    print(f'{count} cases: {same} with the same code and reason, {messages} with the same message')
    if unknown:
        sys.exit('unexpected differences: ' + ', '.join(unknown))


main()
