CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);

CREATE TABLE public.cluster_members (
    host_id text NOT NULL,
    infra_env_id text NOT NULL,
    cluster_id text NOT NULL,
    peer text NOT NULL
);

CREATE TABLE public.clusters (
    id text NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,
    members_version bigint NOT NULL,
    data text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    kube_namespace text,
    kube_name text
);

CREATE TABLE public.events (
    id text NOT NULL,
    at bigint NOT NULL,
    name text NOT NULL,
    severity text NOT NULL,
    category text NOT NULL,
    message text NOT NULL,
    props text,
    host_id text,
    infra_env_id text,
    cluster_id text,
    request_id text
);

CREATE TABLE public.host_bootstrap_data (
    host_id text NOT NULL,
    infra_env_id text NOT NULL,
    document text NOT NULL
);

CREATE TABLE public.host_history (
    id text NOT NULL,
    host_id text NOT NULL,
    infra_env_id text NOT NULL,
    version bigint NOT NULL,
    at bigint NOT NULL,
    who text NOT NULL,
    event text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    reason text NOT NULL
);

CREATE TABLE public.host_inventories (
    host_id text NOT NULL,
    infra_env_id text NOT NULL,
    document text NOT NULL
);

CREATE TABLE public.host_reports (
    host_id text NOT NULL,
    infra_env_id text NOT NULL,
    document text NOT NULL
);

CREATE TABLE public.hosts (
    id text NOT NULL,
    infra_env_id text NOT NULL,
    cluster_id text,
    status text NOT NULL,
    version bigint NOT NULL,
    due_at bigint,
    checked_in_at bigint NOT NULL,
    host_clock bigint NOT NULL,
    agent_version text NOT NULL,
    hostname text NOT NULL,
    macs text NOT NULL,
    state text NOT NULL,
    data text NOT NULL,
    has_inventory bigint NOT NULL,
    created_at bigint NOT NULL,
    deleted_at bigint,
    host_clock_at bigint
);

CREATE TABLE public.infra_envs (
    id text NOT NULL,
    name text NOT NULL,
    cluster_id text,
    boot_id text NOT NULL,
    version bigint NOT NULL,
    settings text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    kube_namespace text,
    kube_name text
);

CREATE TABLE public.kube_objects (
    resource text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    revision bigint NOT NULL
);

CREATE TABLE public.kube_owners (
    owner_uid text NOT NULL,
    resource text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL
);

CREATE TABLE public.kube_revision (
    id bigint NOT NULL,
    revision bigint NOT NULL,
    compacted bigint NOT NULL
);

CREATE TABLE public.kube_versions (
    revision bigint NOT NULL,
    resource text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    change text NOT NULL,
    previous bigint NOT NULL,
    document text NOT NULL
);

CREATE TABLE public.log_chunks (
    log_id text NOT NULL,
    number bigint NOT NULL,
    content bytea NOT NULL
);

CREATE TABLE public.logs (
    id text NOT NULL,
    cluster_id text NOT NULL,
    host_id text,
    infra_env_id text,
    size bigint NOT NULL,
    chunks bigint NOT NULL,
    created_at bigint NOT NULL,
    completed_at bigint
);

CREATE TABLE public.outbox (
    kind text NOT NULL,
    key text NOT NULL,
    id text NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    claimed_until bigint NOT NULL
);

CREATE TABLE public.settings (
    name text NOT NULL,
    value text NOT NULL,
    created_at bigint NOT NULL
);

INSERT INTO public._sqlx_migrations VALUES (20261121145500, 'hosts infra envs and their events', '2026-11-22 16:01:35.782222+00', true, '\x2bfdbb33bb4bbcceba1cc11e43c09cac5630243ef8c346b8f153facfad7aea2f349e9e0dd3680e87d61a1c57108f973d', 14366133);
INSERT INTO public._sqlx_migrations VALUES (20261121180000, 'clusters and reports', '2026-11-22 16:01:35.797172+00', true, '\xd4efbdbc67ae2b3fda2bb15430edcfb9e2e178e4769453104f76b068ae4333a8040df5ee1798335fdf05b9f01bc2580a', 3440011);
INSERT INTO public._sqlx_migrations VALUES (20261121190000, 'logs of hosts', '2026-11-22 16:01:35.800855+00', true, '\xa4b5046bedf6d34e6afb03b26416aa7f98208e1ef32473cb151da9e1dad8558043748b3b3925e77f096f7d9e69d0ce40', 2252733);
INSERT INTO public._sqlx_migrations VALUES (20261121193000, 'objects of the built in kubernetes api', '2026-11-22 16:01:35.80325+00', true, '\x15ccf0f30e2538e6d905be62cfd07edf57624fa2925d2c75f505acb4d09d8c13bd3ddc88d50ce550468d6303c616442a', 8028401);
INSERT INTO public._sqlx_migrations VALUES (20261121210000, 'custom resources of infra envs and clusters', '2026-11-22 16:01:35.811478+00', true, '\xd1e1276a142a885bbc14fdacfc8c59efb12aee283623d81dba4bf873e0f1be0da865df239178168788ae3dc190f64915', 1335337);
INSERT INTO public._sqlx_migrations VALUES (20261122080000, 'bootstrap data of hosts', '2026-11-22 16:01:35.814809+00', true, '\x7a27e56ec956f4d59f92509a1539a020bc847d4138cfbd8772034d148c5945bec9910bfcca429838f97eff48ea97948f', 1343598);

INSERT INTO public.cluster_members VALUES ('00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', '{"id":"00000000-0000-4000-8000-000000000002","status":"insufficient","role":"worker","hostname":"gold","nics":[{"name":"enp0s8","mac":"52:54:00:aa:00:03","ip_addresses":["10.0.4.15"]},{"name":"enp0s7","mac":"52:54:00:aa:00:02","ip_addresses":["10.0.3.15"]},{"name":"enp0s6","mac":"52:54:00:aa:00:01","ip_addresses":["10.0.2.15","fd00:2::5054:ff:feaa:1"]}],"clock_offset_secs":null,"sees":{"unreached":[],"answered_twice":[]}}');

INSERT INTO public.clusters VALUES ('8995ff60-d86b-45e8-816c-0c820b236bda', 'day2', 2, 3, '{"name":"day2","openshift_cluster_id":"00000000-0000-4000-8000-0000000000c1","openshift_version":"4.20.1","cpu_architecture":null,"base_dns_domain":"example.test","api_vip_dnsname":"api.day2.example.test","pull_secret":"","ssh_public_key":"","proxy":{"http_proxy":"http://proxy.example.test:3128"},"additional_ntp_source":"","ntp_sources":"","ignition_endpoint_url":"","ignition_endpoint_ca":"","machine_networks":[],"api_vips":[],"ingress_vips":[],"ignored_host_validations":[],"ignored_cluster_validations":[],"traits":{"cluster_networks":[],"service_networks":[],"platform":null,"load_balancer":"cluster-managed","disk_encryption":{},"hyperthreading":null,"network_type":null,"schedulable_masters":false,"user_managed_networking":null,"vip_dhcp_allocation":null,"control_plane_count":0,"tags":"","olm_operators":[],"operator_bundles":[]}}', 1795363299756475, 1795363299789242, NULL, NULL, NULL);

INSERT INTO public.events VALUES ('01a203fd-e1b2-71ed-a11c-792961958553', 1795363299756475, 'cluster_registration_succeeded', 'info', 'user', 'Cluster day2 was imported: hosts can be added to it', '{"cluster_kind":"AddHostsCluster"}', NULL, NULL, '8995ff60-d86b-45e8-816c-0c820b236bda', '2099eba5-4072-4a91-9075-f57cc431842b');
INSERT INTO public.events VALUES ('01a203fd-e1cf-7552-af3b-060340af3061', 1795363299789242, 'proxy_settings_changed', 'info', 'user', 'Proxy settings of cluster day2 were changed', NULL, NULL, NULL, '8995ff60-d86b-45e8-816c-0c820b236bda', 'f58ace01-b67f-4a23-a1eb-2a95b0539608');
INSERT INTO public.events VALUES ('01a203fd-e1f5-7791-9673-eecf364a8a64', 1795363299808680, 'infra_env_registered', 'info', 'user', 'InfraEnv lab was made', NULL, NULL, 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '591cc46c-cb6a-4d06-9075-3f5f11bdcd0e');
INSERT INTO public.events VALUES ('01a203fd-e1f5-7791-9673-eed00a3ae19d', 1795363299808680, 'image_info_updated', 'info', 'user', 'Image settings of InfraEnv lab: type full-iso, proxy set, time sources set, static network set, SSH keys not set, Ignition override not set', NULL, NULL, 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '591cc46c-cb6a-4d06-9075-3f5f11bdcd0e');
INSERT INTO public.events VALUES ('01a203fd-e1f5-7791-9673-eed1092d1d14', 1795363299808680, 'muster_setting_not_applied', 'warning', 'user', 'InfraEnv lab: static_network_config has no effect on hosts that boot the Muster live image: the Muster live image configures its network by DHCP and router advertisements only; hosts without these will not be discovered', '{"setting":"static_network_config"}', NULL, 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '591cc46c-cb6a-4d06-9075-3f5f11bdcd0e');
INSERT INTO public.events VALUES ('01a203fd-e203-7341-860b-77ebafd4a260', 1795363299836253, 'infra_env_registered', 'info', 'user', 'InfraEnv gone was made', NULL, NULL, '69fdaa8f-f7b4-435e-84ef-9b0cb254e819', NULL, '4445fe90-1204-4d1b-8ec7-32f2c163dc8b');
INSERT INTO public.events VALUES ('01a203fd-e203-7341-860b-77ec536d8e61', 1795363299836253, 'image_info_updated', 'info', 'user', 'Image settings of InfraEnv gone: type full-iso, proxy not set, time sources not set, static network not set, SSH keys not set, Ignition override not set', NULL, NULL, '69fdaa8f-f7b4-435e-84ef-9b0cb254e819', NULL, '4445fe90-1204-4d1b-8ec7-32f2c163dc8b');
INSERT INTO public.events VALUES ('01a203fd-e218-7301-8b09-f14fda6d8be1', 1795363299853347, 'infra_env_deregistered', 'info', 'user', 'InfraEnv gone was deleted', NULL, NULL, '69fdaa8f-f7b4-435e-84ef-9b0cb254e819', NULL, '86d3142e-1724-4574-8bcf-2dc61b2ff6d4');
INSERT INTO public.events VALUES ('01a203fd-e23b-7450-b115-5aa18ba47a80', 1795363299879483, 'host_registration_succeeded', 'info', 'user', 'Host 00000000-0000-4000-8000-000000000001 registered', NULL, '00000000-0000-4000-8000-000000000001', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '5d5d26cd-e1e5-4f97-9c4c-dd855e078961');
INSERT INTO public.events VALUES ('01a203fd-e268-70c7-82c8-3aae12ad23f2', 1795363299922845, 'host_status_updated', 'info', 'user', 'Host worker-1: from discovering-unbound to known-unbound (worker-1 is fit and can be bound to a cluster)', NULL, '00000000-0000-4000-8000-000000000001', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '512d75f6-a67b-4159-8caa-d4c63879cbda');
INSERT INTO public.events VALUES ('01a203fd-e288-727a-b0cd-555ddc7fdf59', 1795363299962015, 'host_validation_fixed', 'info', 'user', 'Host worker-1: the check ntp-synced passes now', NULL, '00000000-0000-4000-8000-000000000001', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '93c9aa8b-e6e7-434a-9b8e-64126563b6d8');
INSERT INTO public.events VALUES ('01a203fd-e2b0-7151-984d-f4246b362369', 1795363299992491, 'host_registration_succeeded', 'info', 'user', 'Host 00000000-0000-4000-8000-000000000002 registered', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '5672c6b8-aab9-46c5-b034-a02259bf8211');
INSERT INTO public.events VALUES ('01a203fd-e2d2-7398-af00-96e3ccd995a3', 1795363300030842, 'host_status_updated', 'info', 'user', 'Host worker-2: from discovering-unbound to known-unbound (worker-2 is fit and can be bound to a cluster)', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '47f2a0b1-b0a1-4853-a4ff-1dde77d34fc2');
INSERT INTO public.events VALUES ('01a203fd-e2fb-7016-8014-e68697f33419', 1795363300079846, 'host_validation_fixed', 'info', 'user', 'Host worker-2: the check ntp-synced passes now', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '3462bb5b-2987-4e3f-b7a4-82a36fdf0862');
INSERT INTO public.events VALUES ('01a203fd-e32e-7656-8038-67c19f87648c', 1795363300109851, 'host_registration_succeeded', 'info', 'user', 'Host 00000000-0000-4000-8000-000000000003 registered', NULL, '00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, 'b392b6f9-8b33-40ff-82ab-8e68ad3565c4');
INSERT INTO public.events VALUES ('01a203fd-e35a-7085-ab11-296a8bb1393d', 1795363300166150, 'host_status_updated', 'info', 'user', 'Host worker-3: from discovering-unbound to known-unbound (worker-3 is fit and can be bound to a cluster)', NULL, '00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, 'a4ccaa1c-57ce-48c6-95c9-bae0d8e64a4d');
INSERT INTO public.events VALUES ('01a203fd-e374-75af-8acd-5c699511fd9e', 1795363300197767, 'host_validation_fixed', 'info', 'user', 'Host worker-3: the check ntp-synced passes now', NULL, '00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, 'a4413c0b-ab47-4c71-bb6e-07a046875899');
INSERT INTO public.events VALUES ('01a203fd-e39d-779e-8207-4014774d07c4', 1795363300240103, 'host_registration_succeeded', 'info', 'user', 'Host 00000000-0000-4000-8000-000000000004 registered', NULL, '00000000-0000-4000-8000-000000000004', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, 'd652a651-ecd6-4465-bbd9-e6ab43d7669e');
INSERT INTO public.events VALUES ('01a203fd-e3f1-71f6-adbd-e786388cb4dc', 1795363300288879, 'host_bind_succeeded', 'info', 'user', 'Host 00000000-0000-4000-8000-000000000002 was bound to the cluster 8995ff60-d86b-45e8-816c-0c820b236bda', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', '849cd1e5-0cf8-4a26-8748-235c6083bf74');
INSERT INTO public.events VALUES ('01a203fd-e3f1-71f6-adbd-e787838b8dc4', 1795363300288879, 'host_status_updated', 'info', 'user', 'Host 00000000-0000-4000-8000-000000000002: from known-unbound to binding (Waits for the host''s agent to register again, which it does by itself)', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', '849cd1e5-0cf8-4a26-8748-235c6083bf74');
INSERT INTO public.events VALUES ('01a203fd-e40b-7508-b37d-a6b5cb41216d', 1795363300348398, 'host_status_updated', 'info', 'user', 'Host 00000000-0000-4000-8000-000000000002: from binding to discovering (Waits for the host to tell what it is made of)', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', 'aa86cc69-c7ad-4830-a2fa-266a5700b1c7');
INSERT INTO public.events VALUES ('01a203fd-e425-77f0-9a6f-8a3d7d3913df', 1795363300370388, 'host_role_updated', 'info', 'user', 'Host gold: the role worker is suggested', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', '9a9cd72f-149e-4b50-9b89-7e7ba82fc0a4');
INSERT INTO public.events VALUES ('01a203fd-e425-77f0-9a6f-8a3ed814e7b3', 1795363300370388, 'host_validation_failed', 'warning', 'user', 'Host gold: the check ntp-synced now fails: The host''s clock follows none of its time sources; check that they can be reached (UDP port 123)', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', '9a9cd72f-149e-4b50-9b89-7e7ba82fc0a4');
INSERT INTO public.events VALUES ('01a203fd-e425-77f0-9a6f-8a3fc13780a9', 1795363300370388, 'host_status_updated', 'warning', 'user', 'Host gold: from discovering to insufficient (Not fit yet: *.apps.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself ; Waits until the host has tried to download the cluster''s ignition ; api-int.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself ; api.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself)', NULL, '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', '9a9cd72f-149e-4b50-9b89-7e7ba82fc0a4');
INSERT INTO public.events VALUES ('01a203fd-e43e-7651-8d35-a8ebca16eaa0', 1795363300413219, 'host_deregistered', 'info', 'user', 'Host worker-3 was deleted; a machine that is still on registers again by itself within minutes, as a new host without its name and disk', NULL, '00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, '0aa4fdf0-2870-41d8-bd59-b4bb5d0ae785');

INSERT INTO public.host_history VALUES ('01a203fd-e23a-7281-955c-bc7c81f76134', '00000000-0000-4000-8000-000000000001', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 1, 1795363299879483, 'agent', 'registration', NULL, 'discovering-unbound', 'Waits for the host to tell what it is made of');
INSERT INTO public.host_history VALUES ('01a203fd-e262-722e-984a-2288b086bc33', '00000000-0000-4000-8000-000000000001', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 2, 1795363299922845, 'agent', 'inventory', 'discovering-unbound', 'known-unbound', 'worker-1 is fit and can be bound to a cluster');
INSERT INTO public.host_history VALUES ('01a203fd-e2af-726b-8a0b-d7860ac1b8c4', '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 1, 1795363299992491, 'agent', 'registration', NULL, 'discovering-unbound', 'Waits for the host to tell what it is made of');
INSERT INTO public.host_history VALUES ('01a203fd-e2c9-736c-878c-b82624afa476', '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 2, 1795363300030842, 'agent', 'inventory', 'discovering-unbound', 'known-unbound', 'worker-2 is fit and can be bound to a cluster');
INSERT INTO public.host_history VALUES ('01a203fd-e32e-7656-8038-67c06c537b5e', '00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 1, 1795363300109851, 'agent', 'registration', NULL, 'discovering-unbound', 'Waits for the host to tell what it is made of');
INSERT INTO public.host_history VALUES ('01a203fd-e356-7447-ac31-d6aaad3cd80d', '00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 2, 1795363300166150, 'agent', 'inventory', 'discovering-unbound', 'known-unbound', 'worker-3 is fit and can be bound to a cluster');
INSERT INTO public.host_history VALUES ('01a203fd-e39a-748d-bfee-eb9771ec2168', '00000000-0000-4000-8000-000000000004', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 1, 1795363300240103, 'agent', 'registration', NULL, 'discovering-unbound', 'Waits for the host to tell what it is made of');
INSERT INTO public.host_history VALUES ('01a203fd-e3ef-7538-a43c-60a8056e6448', '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 4, 1795363300288879, 'user', 'bind', 'known-unbound', 'binding', 'Waits for the host''s agent to register again, which it does by itself');
INSERT INTO public.host_history VALUES ('01a203fd-e40a-7226-897f-ab84bf3b6f51', '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 5, 1795363300348398, 'agent', 'registration', 'binding', 'discovering', 'Waits for the host to tell what it is made of');
INSERT INTO public.host_history VALUES ('01a203fd-e424-7196-99af-8dee4dbfde03', '00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', 6, 1795363300370388, 'agent', 'inventory', 'discovering', 'insufficient', 'Not fit yet: *.apps.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself ; Waits until the host has tried to download the cluster''s ignition ; api-int.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself ; api.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself');

INSERT INTO public.host_inventories VALUES ('00000000-0000-4000-8000-000000000001', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '{"bmc_address":"0.0.0.0","bmc_v6address":"::/0","boot":{"command_line":"console=ttyS0,115200n8 quiet rdinit=/init net.ifnames=1\n","current_boot_mode":"bios","secure_boot_state":"NotSupported"},"cpu":{"architecture":"x86_64","count":2,"flags":["fpu","de","pse","tsc","msr","pae","mce","cx8","apic","sep","mtrr","pge","mca","cmov","pat","pse36","clflush","mmx","fxsr","sse","sse2","ht","syscall","nx","lm","constant_tsc","rep_good","nopl","xtopology","cpuid","pni","ssse3","cx16","sse4_1","sse4_2","popcnt","hypervisor","lahf_lm","pti"],"model_name":"Intel Core i7 9xx (Nehalem Class Core i7)"},"disks":[{"by_path":"/dev/disk/by-path/pci-0000:00:04.0-nvme-1","drive_type":"SSD","has_uuid":true,"id":"/dev/disk/by-path/pci-0000:00:04.0-nvme-1","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"QEMU NVMe Ctrl","name":"nvme0n1","path":"/dev/nvme0n1","serial":"SER-N","size_bytes":200000000000,"wwn":"nvme.1b36-5345522d4e-51454d55204e564d65204374726c-00000001"},{"by_id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d2","by_path":"/dev/disk/by-path/pci-0000:00:03.0-scsi-0:0:2:1","drive_type":"HDD","has_uuid":true,"hctl":"12:0:2:1","id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d2","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"SCSI-3","name":"sda","path":"/dev/sda","serial":"SER-C","size_bytes":200000000000,"vendor":"ACME","wwn":"0x5000c500a0b0c0d2"},{"by_id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d1","by_path":"/dev/disk/by-path/pci-0000:00:01.0-ata-1.0","drive_type":"HDD","has_uuid":true,"hctl":"0:0:0:0","id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d1","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"ACME-SATA","name":"sdb","path":"/dev/sdb","serial":"SER-B","size_bytes":200000000000,"vendor":"ATA","wwn":"0x5000c500a0b0c0d1"},{"by_path":"/dev/disk/by-path/pci-0000:00:05.0-usb-0:1:1.0-scsi-0:0:0:0","drive_type":"HDD","has_uuid":true,"hctl":"13:0:0:0","id":"/dev/disk/by-path/pci-0000:00:05.0-usb-0:1:1.0-scsi-0:0:0:0","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"QEMU_HARDDISK","name":"sdc","path":"/dev/sdc","removable":true,"serial":"SER-U","size_bytes":200000000000,"vendor":"QEMU"},{"by_path":"/dev/disk/by-path/pci-0000:00:01.0-ata-2.0","drive_type":"ODD","has_uuid":true,"hctl":"1:0:0:0","id":"/dev/disk/by-path/pci-0000:00:01.0-ata-2.0","installation_eligibility":{"not_eligible_reasons":["Too small: the disk has 1.074 GB, and 50 GB are required","This disk has the drive type ODD; only these can be installed to: HDD, SSD, Multipath, RAID, iSCSI, FC"]},"is_installation_media":true,"model":"QEMU_DVD-ROM","name":"sr0","path":"/dev/sr0","removable":true,"serial":"QM00015","size_bytes":1073741312,"vendor":"QEMU"},{"by_path":"/dev/disk/by-path/pci-0000:00:02.0","drive_type":"HDD","id":"/dev/disk/by-path/pci-0000:00:02.0","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"name":"vda","path":"/dev/vda","serial":"SER-A","size_bytes":200000000000,"vendor":"0x1af4"}],"gpus":[{"address":"0000:00:0a.0","device_id":"1050","name":"Virtio 1.0 GPU","vendor":"Red Hat, Inc.","vendor_id":"1af4"}],"hostname":"worker-1","interfaces":[{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.4.15/24"],"ipv6_addresses":[],"mac_address":"52:54:00:aa:00:03","mtu":1500,"name":"enp0s8","product":"0x07b0","speed_mbps":1000,"type":"physical","vendor":"0x15ad"},{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.3.15/24"],"ipv6_addresses":[],"mac_address":"52:54:00:aa:00:02","mtu":1500,"name":"enp0s7","product":"0x10d3","speed_mbps":1000,"type":"physical","vendor":"0x8086"},{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.2.15/24"],"ipv6_addresses":["fd00:2::5054:ff:feaa:1/64"],"mac_address":"52:54:00:aa:00:01","mtu":1500,"name":"enp0s6","product":"0x0001","speed_mbps":-1,"type":"physical","vendor":"0x1af4"}],"memory":{"physical_bytes":34359738368,"physical_bytes_method":"dmidecode","usable_bytes":34359738368},"routes":[{"destination":"0.0.0.0","family":2,"gateway":"10.0.2.2","interface":"enp0s6","metric":106},{"destination":"0.0.0.0","family":2,"gateway":"10.0.3.2","interface":"enp0s7","metric":107},{"destination":"0.0.0.0","family":2,"gateway":"10.0.4.2","interface":"enp0s8","metric":108},{"destination":"10.0.2.0","family":2,"interface":"enp0s6"},{"destination":"10.0.3.0","family":2,"interface":"enp0s7"},{"destination":"10.0.4.0","family":2,"interface":"enp0s8"},{"destination":"fd00:2::","family":10,"interface":"enp0s6","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s6","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s8","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s7","metric":256},{"destination":"::","family":10,"gateway":"fe80::2","interface":"enp0s6","metric":1024}],"system_vendor":{"manufacturer":"AcmeCorp","product_name":"Rack-1000","serial_number":"ACME-0001","virtual":true},"tpm_version":"none"}');
INSERT INTO public.host_inventories VALUES ('00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '{"bmc_address":"0.0.0.0","bmc_v6address":"::/0","boot":{"command_line":"console=ttyS0,115200n8 quiet rdinit=/init net.ifnames=1\n","current_boot_mode":"bios","secure_boot_state":"NotSupported"},"cpu":{"architecture":"x86_64","count":2,"flags":["fpu","de","pse","tsc","msr","pae","mce","cx8","apic","sep","mtrr","pge","mca","cmov","pat","pse36","clflush","mmx","fxsr","sse","sse2","ht","syscall","nx","lm","constant_tsc","rep_good","nopl","xtopology","cpuid","pni","ssse3","cx16","sse4_1","sse4_2","popcnt","hypervisor","lahf_lm","pti"],"model_name":"Intel Core i7 9xx (Nehalem Class Core i7)"},"disks":[{"by_path":"/dev/disk/by-path/pci-0000:00:04.0-nvme-1","drive_type":"SSD","has_uuid":true,"id":"/dev/disk/by-path/pci-0000:00:04.0-nvme-1","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"QEMU NVMe Ctrl","name":"nvme0n1","path":"/dev/nvme0n1","serial":"SER-N","size_bytes":200000000000,"wwn":"nvme.1b36-5345522d4e-51454d55204e564d65204374726c-00000001"},{"by_id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d2","by_path":"/dev/disk/by-path/pci-0000:00:03.0-scsi-0:0:2:1","drive_type":"HDD","has_uuid":true,"hctl":"12:0:2:1","id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d2","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"SCSI-3","name":"sda","path":"/dev/sda","serial":"SER-C","size_bytes":200000000000,"vendor":"ACME","wwn":"0x5000c500a0b0c0d2"},{"by_id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d1","by_path":"/dev/disk/by-path/pci-0000:00:01.0-ata-1.0","drive_type":"HDD","has_uuid":true,"hctl":"0:0:0:0","id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d1","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"ACME-SATA","name":"sdb","path":"/dev/sdb","serial":"SER-B","size_bytes":200000000000,"vendor":"ATA","wwn":"0x5000c500a0b0c0d1"},{"by_path":"/dev/disk/by-path/pci-0000:00:05.0-usb-0:1:1.0-scsi-0:0:0:0","drive_type":"HDD","has_uuid":true,"hctl":"13:0:0:0","id":"/dev/disk/by-path/pci-0000:00:05.0-usb-0:1:1.0-scsi-0:0:0:0","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"QEMU_HARDDISK","name":"sdc","path":"/dev/sdc","removable":true,"serial":"SER-U","size_bytes":200000000000,"vendor":"QEMU"},{"by_path":"/dev/disk/by-path/pci-0000:00:01.0-ata-2.0","drive_type":"ODD","has_uuid":true,"hctl":"1:0:0:0","id":"/dev/disk/by-path/pci-0000:00:01.0-ata-2.0","installation_eligibility":{"not_eligible_reasons":["Too small: the disk has 1.074 GB, and 50 GB are required","This disk has the drive type ODD; only these can be installed to: HDD, SSD, Multipath, RAID, iSCSI, FC"]},"is_installation_media":true,"model":"QEMU_DVD-ROM","name":"sr0","path":"/dev/sr0","removable":true,"serial":"QM00015","size_bytes":1073741312,"vendor":"QEMU"},{"by_path":"/dev/disk/by-path/pci-0000:00:02.0","drive_type":"HDD","id":"/dev/disk/by-path/pci-0000:00:02.0","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"name":"vda","path":"/dev/vda","serial":"SER-A","size_bytes":200000000000,"vendor":"0x1af4"}],"gpus":[{"address":"0000:00:0a.0","device_id":"1050","name":"Virtio 1.0 GPU","vendor":"Red Hat, Inc.","vendor_id":"1af4"}],"hostname":"worker-3","interfaces":[{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.4.15/24"],"ipv6_addresses":[],"mac_address":"52:54:00:aa:00:03","mtu":1500,"name":"enp0s8","product":"0x07b0","speed_mbps":1000,"type":"physical","vendor":"0x15ad"},{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.3.15/24"],"ipv6_addresses":[],"mac_address":"52:54:00:aa:00:02","mtu":1500,"name":"enp0s7","product":"0x10d3","speed_mbps":1000,"type":"physical","vendor":"0x8086"},{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.2.15/24"],"ipv6_addresses":["fd00:2::5054:ff:feaa:1/64"],"mac_address":"52:54:00:aa:00:01","mtu":1500,"name":"enp0s6","product":"0x0001","speed_mbps":-1,"type":"physical","vendor":"0x1af4"}],"memory":{"physical_bytes":34359738368,"physical_bytes_method":"dmidecode","usable_bytes":34359738368},"routes":[{"destination":"0.0.0.0","family":2,"gateway":"10.0.2.2","interface":"enp0s6","metric":106},{"destination":"0.0.0.0","family":2,"gateway":"10.0.3.2","interface":"enp0s7","metric":107},{"destination":"0.0.0.0","family":2,"gateway":"10.0.4.2","interface":"enp0s8","metric":108},{"destination":"10.0.2.0","family":2,"interface":"enp0s6"},{"destination":"10.0.3.0","family":2,"interface":"enp0s7"},{"destination":"10.0.4.0","family":2,"interface":"enp0s8"},{"destination":"fd00:2::","family":10,"interface":"enp0s6","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s6","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s8","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s7","metric":256},{"destination":"::","family":10,"gateway":"fe80::2","interface":"enp0s6","metric":1024}],"system_vendor":{"manufacturer":"AcmeCorp","product_name":"Rack-1000","serial_number":"ACME-0001","virtual":true},"tpm_version":"none"}');
INSERT INTO public.host_inventories VALUES ('00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '{"bmc_address":"0.0.0.0","bmc_v6address":"::/0","boot":{"command_line":"console=ttyS0,115200n8 quiet rdinit=/init net.ifnames=1\n","current_boot_mode":"bios","secure_boot_state":"NotSupported"},"cpu":{"architecture":"x86_64","count":2,"flags":["fpu","de","pse","tsc","msr","pae","mce","cx8","apic","sep","mtrr","pge","mca","cmov","pat","pse36","clflush","mmx","fxsr","sse","sse2","ht","syscall","nx","lm","constant_tsc","rep_good","nopl","xtopology","cpuid","pni","ssse3","cx16","sse4_1","sse4_2","popcnt","hypervisor","lahf_lm","pti"],"model_name":"Intel Core i7 9xx (Nehalem Class Core i7)"},"disks":[{"by_path":"/dev/disk/by-path/pci-0000:00:04.0-nvme-1","drive_type":"SSD","has_uuid":true,"id":"/dev/disk/by-path/pci-0000:00:04.0-nvme-1","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"QEMU NVMe Ctrl","name":"nvme0n1","path":"/dev/nvme0n1","serial":"SER-N","size_bytes":200000000000,"wwn":"nvme.1b36-5345522d4e-51454d55204e564d65204374726c-00000001"},{"by_id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d2","by_path":"/dev/disk/by-path/pci-0000:00:03.0-scsi-0:0:2:1","drive_type":"HDD","has_uuid":true,"hctl":"12:0:2:1","id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d2","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"SCSI-3","name":"sda","path":"/dev/sda","serial":"SER-C","size_bytes":200000000000,"vendor":"ACME","wwn":"0x5000c500a0b0c0d2"},{"by_id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d1","by_path":"/dev/disk/by-path/pci-0000:00:01.0-ata-1.0","drive_type":"HDD","has_uuid":true,"hctl":"0:0:0:0","id":"/dev/disk/by-id/wwn-0x5000c500a0b0c0d1","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"ACME-SATA","name":"sdb","path":"/dev/sdb","serial":"SER-B","size_bytes":200000000000,"vendor":"ATA","wwn":"0x5000c500a0b0c0d1"},{"by_path":"/dev/disk/by-path/pci-0000:00:05.0-usb-0:1:1.0-scsi-0:0:0:0","drive_type":"HDD","has_uuid":true,"hctl":"13:0:0:0","id":"/dev/disk/by-path/pci-0000:00:05.0-usb-0:1:1.0-scsi-0:0:0:0","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"model":"QEMU_HARDDISK","name":"sdc","path":"/dev/sdc","removable":true,"serial":"SER-U","size_bytes":200000000000,"vendor":"QEMU"},{"by_path":"/dev/disk/by-path/pci-0000:00:01.0-ata-2.0","drive_type":"ODD","has_uuid":true,"hctl":"1:0:0:0","id":"/dev/disk/by-path/pci-0000:00:01.0-ata-2.0","installation_eligibility":{"not_eligible_reasons":["Too small: the disk has 1.074 GB, and 100 GB are required","This disk has the drive type ODD; only these can be installed to: HDD, SSD, Multipath, RAID, iSCSI, FC"]},"is_installation_media":true,"model":"QEMU_DVD-ROM","name":"sr0","path":"/dev/sr0","removable":true,"serial":"QM00015","size_bytes":1073741312,"vendor":"QEMU"},{"by_path":"/dev/disk/by-path/pci-0000:00:02.0","drive_type":"HDD","id":"/dev/disk/by-path/pci-0000:00:02.0","installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"name":"vda","path":"/dev/vda","serial":"SER-A","size_bytes":200000000000,"vendor":"0x1af4"}],"gpus":[{"address":"0000:00:0a.0","device_id":"1050","name":"Virtio 1.0 GPU","vendor":"Red Hat, Inc.","vendor_id":"1af4"}],"hostname":"gold","interfaces":[{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.4.15/24"],"ipv6_addresses":[],"mac_address":"52:54:00:aa:00:03","mtu":1500,"name":"enp0s8","product":"0x07b0","speed_mbps":1000,"type":"physical","vendor":"0x15ad"},{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.3.15/24"],"ipv6_addresses":[],"mac_address":"52:54:00:aa:00:02","mtu":1500,"name":"enp0s7","product":"0x10d3","speed_mbps":1000,"type":"physical","vendor":"0x8086"},{"flags":["up","broadcast","multicast","running"],"has_carrier":true,"ipv4_addresses":["10.0.2.15/24"],"ipv6_addresses":["fd00:2::5054:ff:feaa:1/64"],"mac_address":"52:54:00:aa:00:01","mtu":1500,"name":"enp0s6","product":"0x0001","speed_mbps":-1,"type":"physical","vendor":"0x1af4"}],"memory":{"physical_bytes":34359738368,"physical_bytes_method":"dmidecode","usable_bytes":34359738368},"routes":[{"destination":"0.0.0.0","family":2,"gateway":"10.0.2.2","interface":"enp0s6","metric":106},{"destination":"0.0.0.0","family":2,"gateway":"10.0.3.2","interface":"enp0s7","metric":107},{"destination":"0.0.0.0","family":2,"gateway":"10.0.4.2","interface":"enp0s8","metric":108},{"destination":"10.0.2.0","family":2,"interface":"enp0s6"},{"destination":"10.0.3.0","family":2,"interface":"enp0s7"},{"destination":"10.0.4.0","family":2,"interface":"enp0s8"},{"destination":"fd00:2::","family":10,"interface":"enp0s6","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s6","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s8","metric":256},{"destination":"fe80::","family":10,"interface":"enp0s7","metric":256},{"destination":"::","family":10,"gateway":"fe80::2","interface":"enp0s6","metric":1024}],"system_vendor":{"manufacturer":"AcmeCorp","product_name":"Rack-1000","serial_number":"ACME-0001","virtual":true},"tpm_version":"none"}');

INSERT INTO public.hosts VALUES ('00000000-0000-4000-8000-000000000001', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, 'known-unbound', 4, 1795363479983227, 1795363299983227, 1795363299, 'muster-agent/0.1.0', 'worker-1', ' 52:54:00:aa:00:03 52:54:00:aa:00:02 52:54:00:aa:00:01 ', '{"status":"known-unbound"}', '{"kind":"Host","status_info":"named is fit and can be bound to a cluster","status_updated_at":"2026-11-22T16:01:39.922845Z","created_at":"2026-11-22T16:01:39.879483Z","updated_at":"2026-11-22T16:01:40.400386Z","registered_at":"2026-11-22T16:01:39.879483Z","discovery_agent_version":"muster-agent/0.1.0","requested_hostname":"named","role":"auto-assign","suggested_role":"auto-assign","installation_disk_id":"/dev/disk/by-path/pci-0000:00:02.0","installation_disk_path":"/dev/vda","disks_to_be_formatted":[],"skip_formatting_disks":[],"ntp_sources":[{"source_name":"192.0.2.123","source_state":"synced"}],"timestamp":1795363299,"timestamp_at":"2026-11-22T16:01:39.983227Z","validations":{"hardware":[{"id":"has-inventory","status":"success","message":"The inventory has been received"},{"id":"inventory-not-partially-truncated","status":"success","message":"The inventory is complete"},{"id":"inventory-not-fully-truncated","status":"success","message":"The inventory is complete"},{"id":"has-min-cpu-cores","status":"success","message":"2 CPU cores are enough for any role"},{"id":"has-min-memory","status":"success","message":"32.00 GiB of memory are enough for any role"},{"id":"has-min-valid-disks","status":"success","message":"A disk can be installed to"},{"id":"has-cpu-cores-for-role","status":"success","message":"2 CPU cores are enough for the role auto-assign"},{"id":"has-memory-for-role","status":"success","message":"32.00 GiB of memory are enough for the role auto-assign"},{"id":"hostname-valid","status":"success","message":"named is a valid host name"},{"id":"sufficient-installation-disk-speed","status":"success","message":"The speed of the installation disk has not been measured yet"},{"id":"compatible-agent","status":"success","message":"The agent speaks this service''s protocol"},{"id":"no-skip-installation-disk","status":"success","message":"The installation disk may be formatted"},{"id":"no-skip-missing-disk","status":"success","message":"All disks not to be formatted are there"}],"network":[{"id":"connected","status":"success","message":"connected"},{"id":"media-connected","status":"success","message":"The boot medium can be read"},{"id":"valid-platform-network-settings","status":"success","message":"The platform Rack-1000 asks for no settings of its own"},{"id":"ntp-synced","status":"success","message":"The host''s clock follows a time source"},{"id":"time-synced-between-host-and-service","status":"success","message":"The clocks of host and service agree"},{"id":"container-images-available","status":"success","message":"No container image is known to be missing"},{"id":"has-default-route","status":"success","message":"The host has a default route"},{"id":"no-ip-collisions-in-network","status":"success","message":"No address of the host is known to be used twice"}]},"node_labels":[["rack","1"]],"machine_config_pool_name":"","ignition_endpoint_token":"","ignition_endpoint_http_headers":[],"agent_disk_reasons":[[],[],[],[],[],[]],"bootstrap":false,"logs":{"info":"","started_at":null,"collected_at":null},"ignition_config_overrides":"","installer_version":""}', 1, 1795363299879483, NULL, 1795363299983227);
INSERT INTO public.hosts VALUES ('00000000-0000-4000-8000-000000000003', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, 'known-unbound', 4, 1795363480109851, 1795363300109851, 0, 'muster-agent/0.1.0', 'worker-3', ' 52:54:00:aa:00:03 52:54:00:aa:00:02 52:54:00:aa:00:01 ', '{"status":"known-unbound"}', '{"kind":"Host","status_info":"worker-3 is fit and can be bound to a cluster","status_updated_at":"2026-11-22T16:01:40.166150Z","created_at":"2026-11-22T16:01:40.109851Z","updated_at":"2026-11-22T16:01:40.197767Z","registered_at":"2026-11-22T16:01:40.109851Z","discovery_agent_version":"muster-agent/0.1.0","role":"auto-assign","suggested_role":"auto-assign","installation_disk_id":"/dev/disk/by-path/pci-0000:00:02.0","installation_disk_path":"/dev/vda","disks_to_be_formatted":[],"skip_formatting_disks":[],"ntp_sources":[{"source_name":"192.0.2.123","source_state":"synced"}],"timestamp":0,"validations":{"hardware":[{"id":"has-inventory","status":"success","message":"The inventory has been received"},{"id":"inventory-not-partially-truncated","status":"success","message":"The inventory is complete"},{"id":"inventory-not-fully-truncated","status":"success","message":"The inventory is complete"},{"id":"has-min-cpu-cores","status":"success","message":"2 CPU cores are enough for any role"},{"id":"has-min-memory","status":"success","message":"32.00 GiB of memory are enough for any role"},{"id":"has-min-valid-disks","status":"success","message":"A disk can be installed to"},{"id":"has-cpu-cores-for-role","status":"success","message":"2 CPU cores are enough for the role auto-assign"},{"id":"has-memory-for-role","status":"success","message":"32.00 GiB of memory are enough for the role auto-assign"},{"id":"hostname-valid","status":"success","message":"worker-3 is a valid host name"},{"id":"sufficient-installation-disk-speed","status":"success","message":"The speed of the installation disk has not been measured yet"},{"id":"compatible-agent","status":"success","message":"The agent speaks this service''s protocol"},{"id":"no-skip-installation-disk","status":"success","message":"The installation disk may be formatted"},{"id":"no-skip-missing-disk","status":"success","message":"All disks not to be formatted are there"}],"network":[{"id":"connected","status":"success","message":"connected"},{"id":"media-connected","status":"success","message":"The boot medium can be read"},{"id":"valid-platform-network-settings","status":"success","message":"The platform Rack-1000 asks for no settings of its own"},{"id":"ntp-synced","status":"success","message":"The host''s clock follows a time source"},{"id":"time-synced-between-host-and-service","status":"pending","message":"Waits for the host to tell its time"},{"id":"container-images-available","status":"success","message":"No container image is known to be missing"},{"id":"has-default-route","status":"success","message":"The host has a default route"},{"id":"no-ip-collisions-in-network","status":"success","message":"No address of the host is known to be used twice"}]},"node_labels":[],"machine_config_pool_name":"","ignition_endpoint_token":"","ignition_endpoint_http_headers":[],"agent_disk_reasons":[[],[],[],[],[],[]],"bootstrap":false,"logs":{"info":"","started_at":null,"collected_at":null},"ignition_config_overrides":"","installer_version":""}', 1, 1795363300109851, 1795363300413219, NULL);
INSERT INTO public.hosts VALUES ('00000000-0000-4000-8000-000000000004', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', NULL, 'discovering-unbound', 2, 1795363480240103, 1795363300240103, 0, 'muster-agent/0.1.0', '', '', '{"status":"discovering-unbound"}', '{"kind":"Host","status_info":"Waits for the host to tell what it is made of","status_updated_at":"2026-11-22T16:01:40.240103Z","created_at":"2026-11-22T16:01:40.240103Z","updated_at":"2026-11-22T16:01:41.852573Z","registered_at":"2026-11-22T16:01:40.240103Z","discovery_agent_version":"muster-agent/0.1.0","role":"auto-assign","suggested_role":"auto-assign","installation_disk_id":"","installation_disk_path":"","disks_to_be_formatted":[],"skip_formatting_disks":[],"timestamp":0,"validations":{"hardware":[{"id":"has-inventory","status":"failure","message":"No inventory has been received yet"},{"id":"inventory-not-partially-truncated","status":"pending","message":"Waits for the host''s inventory"},{"id":"inventory-not-fully-truncated","status":"pending","message":"Waits for the host''s inventory"},{"id":"has-min-cpu-cores","status":"pending","message":"Waits for the host''s inventory"},{"id":"has-min-memory","status":"pending","message":"Waits for the host''s inventory"},{"id":"has-min-valid-disks","status":"pending","message":"Waits for the host''s inventory"},{"id":"has-cpu-cores-for-role","status":"pending","message":"Waits for the host''s inventory"},{"id":"has-memory-for-role","status":"pending","message":"Waits for the host''s inventory"},{"id":"hostname-valid","status":"failure","message":"The host''s name is known only with its inventory"},{"id":"sufficient-installation-disk-speed","status":"error","message":"There is no installation disk whose speed could be known"},{"id":"compatible-agent","status":"success","message":"The agent speaks this service''s protocol"},{"id":"no-skip-installation-disk","status":"success","message":"The installation disk may be formatted"},{"id":"no-skip-missing-disk","status":"pending","message":"Waits for the host''s inventory"}],"network":[{"id":"connected","status":"success","message":"connected"},{"id":"media-connected","status":"success","message":"The boot medium can be read"},{"id":"valid-platform-network-settings","status":"pending","message":"Waits for the host''s inventory"},{"id":"ntp-synced","status":"failure","message":"The host''s clock follows none of its time sources; check that they can be reached (UDP port 123)"},{"id":"time-synced-between-host-and-service","status":"pending","message":"Waits for the host to tell its time"},{"id":"container-images-available","status":"success","message":"No container image is known to be missing"},{"id":"sufficient-network-latency-requirement-for-role","status":"pending","message":"Waits for the host''s inventory"},{"id":"sufficient-packet-loss-requirement-for-role","status":"pending","message":"Waits for the host''s inventory"},{"id":"has-default-route","status":"pending","message":"Waits for the host''s inventory"},{"id":"non-overlapping-subnets","status":"pending","message":"Waits for the host''s inventory"},{"id":"no-ip-collisions-in-network","status":"success","message":"No address of the host is known to be used twice"}]},"node_labels":[],"machine_config_pool_name":"","ignition_endpoint_token":"","ignition_endpoint_http_headers":[],"bootstrap":false,"logs":{"info":"","started_at":null,"collected_at":null},"ignition_config_overrides":"","installer_version":""}', 0, 1795363300240103, NULL, NULL);
INSERT INTO public.hosts VALUES ('00000000-0000-4000-8000-000000000002', 'fd9ed616-680b-485b-b05b-dbee0d55cc94', '8995ff60-d86b-45e8-816c-0c820b236bda', 'insufficient', 6, 1795363480348398, 1795363300348398, 1795363300, 'muster-agent/0.1.0', 'gold', ' 52:54:00:aa:00:03 52:54:00:aa:00:02 52:54:00:aa:00:01 ', '{"status":"insufficient","failed":["ignition-downloadable","api-domain-name-resolved-correctly","api-int-domain-name-resolved-correctly","apps-domain-name-resolved-correctly"]}', '{"kind":"AddToExistingClusterHost","status_info":"Not fit yet: *.apps.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself ; Waits until the host has tried to download the cluster''s ignition ; api-int.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself ; api.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself","status_updated_at":"2026-11-22T16:01:40.370388Z","created_at":"2026-11-22T16:01:39.992491Z","updated_at":"2026-11-22T16:01:40.370388Z","registered_at":"2026-11-22T16:01:40.348398Z","discovery_agent_version":"muster-agent/0.1.0","role":"auto-assign","suggested_role":"worker","installation_disk_id":"/dev/disk/by-path/pci-0000:00:02.0","installation_disk_path":"/dev/vda","disks_to_be_formatted":[],"skip_formatting_disks":[],"timestamp":1795363300,"timestamp_at":"2026-11-22T16:01:40.344433Z","validations":{"hardware":[{"id":"has-inventory","status":"success","message":"The inventory has been received"},{"id":"inventory-not-partially-truncated","status":"success","message":"The inventory is complete"},{"id":"inventory-not-fully-truncated","status":"success","message":"The inventory is complete"},{"id":"has-min-cpu-cores","status":"success","message":"2 CPU cores are enough for any role"},{"id":"has-min-memory","status":"success","message":"32.00 GiB of memory are enough for any role"},{"id":"has-min-valid-disks","status":"success","message":"A disk can be installed to"},{"id":"has-cpu-cores-for-role","status":"success","message":"2 CPU cores are enough for the role worker"},{"id":"has-memory-for-role","status":"success","message":"32.00 GiB of memory are enough for the role worker"},{"id":"hostname-unique","status":"success","message":"No other host of the cluster is called gold"},{"id":"hostname-valid","status":"success","message":"gold is a valid host name"},{"id":"sufficient-installation-disk-speed","status":"success","message":"The speed of the installation disk has not been measured yet"},{"id":"compatible-with-cluster-platform","status":"success","message":"The machine suits the cluster''s platform baremetal"},{"id":"compatible-agent","status":"success","message":"The agent speaks this service''s protocol"},{"id":"no-skip-installation-disk","status":"success","message":"The installation disk may be formatted"},{"id":"no-skip-missing-disk","status":"success","message":"All disks not to be formatted are there"}],"network":[{"id":"connected","status":"success","message":"connected"},{"id":"media-connected","status":"success","message":"The boot medium can be read"},{"id":"machine-cidr-defined","status":"success","message":"The cluster exists, so its machine network need not be told"},{"id":"belongs-to-machine-cidr","status":"success","message":"The cluster exists, so hosts may join it from any network"},{"id":"ignition-downloadable","status":"pending","message":"Waits until the host has tried to download the cluster''s ignition"},{"id":"belongs-to-majority-group","status":"success","message":"The cluster exists, so its new hosts need not all reach each other"},{"id":"mtu-valid","status":"success","message":"The cluster exists; links that are too narrow are among the host''s findings"},{"id":"valid-platform-network-settings","status":"success","message":"The platform Rack-1000 asks for no settings of its own"},{"id":"ntp-synced","status":"failure","message":"The host''s clock follows none of its time sources; check that they can be reached (UDP port 123)"},{"id":"time-synced-between-host-and-service","status":"success","message":"The clocks of host and service agree"},{"id":"container-images-available","status":"success","message":"No container image is known to be missing"},{"id":"sufficient-network-latency-requirement-for-role","status":"success","message":"The cluster exists; too much latency is among the host''s findings"},{"id":"sufficient-packet-loss-requirement-for-role","status":"success","message":"The cluster exists; too much packet loss is among the host''s findings"},{"id":"has-default-route","status":"success","message":"The host has a default route"},{"id":"api-domain-name-resolved-correctly","status":"pending","message":"api.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself"},{"id":"api-int-domain-name-resolved-correctly","status":"pending","message":"api-int.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself"},{"id":"apps-domain-name-resolved-correctly","status":"pending","message":"*.apps.day2.example.test waits for the cluster''s ignition, which tells whether the cluster answers for its names itself"},{"id":"dns-wildcard-not-configured","status":"success","message":"The cluster exists, so its DNS is as it should be"},{"id":"non-overlapping-subnets","status":"success","message":"The host''s networks do not overlap"},{"id":"no-ip-collisions-in-network","status":"success","message":"No address of the host is known to be used twice"}],"operators":[{"id":"amd-gpu-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"authorino-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"cluster-observability-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"cnv-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"fence-agents-remediation-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"kmm-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"kube-descheduler-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"loki-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"lso-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"lvm-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"mce-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"metallb-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"mtv-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"nmstate-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"node-feature-discovery-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"node-healthcheck-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"node-maintenance-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"numa-resources-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"nvidia-gpu-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"oadp-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"odf-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"openshift-ai-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"openshift-logging-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"osc-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"pipelines-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"self-node-remediation-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"serverless-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"},{"id":"servicemesh-requirements-satisfied","status":"success","message":"Skipped, because hosts are added to a cluster that exists"}]},"node_labels":[],"machine_config_pool_name":"","ignition_endpoint_token":"","ignition_endpoint_http_headers":[],"agent_disk_reasons":[[],[],[],[],[],[]],"bootstrap":false,"logs":{"info":"","started_at":null,"collected_at":null},"ignition_config_overrides":"","installer_version":""}', 1, 1795363299992491, NULL, 1795363300344433);

INSERT INTO public.infra_envs VALUES ('fd9ed616-680b-485b-b05b-dbee0d55cc94', 'lab', NULL, 'c9tvvpkp6t4w5ufv23ey2i', 1, '{"image_type":"full-iso","cpu_architecture":"x86_64","openshift_version":"5.0","pull_secret":"{\"auths\":{\"registry.example.test\":{\"auth\":\"dXNlcjpwYXNz\"}}}","ssh_authorized_key":"","proxy":{"http_proxy":"http://proxy.example.test:3128"},"additional_ntp_sources":"192.0.2.123","ntp_sources":"","kernel_arguments":[{"operation":"append","value":"p1"}],"ignition_config_override":"","static_network_config":[{"network_yaml":"interfaces:\n- name: eth0\n  type: ethernet\n","mac_interface_map":[{"mac_address":"02:00:00:00:00:01","logical_nic_name":"eth0"}]}],"additional_trust_bundle":"","rendezvous_ip":"","network_discovery_delay_seconds":null}', 1795363299808680, 1795363299808680, NULL, NULL, NULL);
INSERT INTO public.infra_envs VALUES ('69fdaa8f-f7b4-435e-84ef-9b0cb254e819', 'gone', NULL, 'b4bf2k2cmmgtbwqvrwgmex', 2, '{"image_type":"full-iso","cpu_architecture":"x86_64","openshift_version":"5.0","pull_secret":"{\"auths\":{\"registry.example.test\":{\"auth\":\"dXNlcjpwYXNz\"}}}","ssh_authorized_key":"","proxy":{},"additional_ntp_sources":"","ntp_sources":"","kernel_arguments":null,"ignition_config_override":"","static_network_config":[],"additional_trust_bundle":"","rendezvous_ip":"","network_discovery_delay_seconds":null}', 1795363299836253, 1795363299836253, 1795363299853344, NULL, NULL);

INSERT INTO public.kube_revision VALUES (1, 39, 0);

ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.cluster_members
    ADD CONSTRAINT cluster_members_pkey PRIMARY KEY (host_id, infra_env_id);

ALTER TABLE ONLY public.clusters
    ADD CONSTRAINT clusters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.host_bootstrap_data
    ADD CONSTRAINT host_bootstrap_data_pkey PRIMARY KEY (host_id, infra_env_id);

ALTER TABLE ONLY public.host_history
    ADD CONSTRAINT host_history_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.host_inventories
    ADD CONSTRAINT host_inventories_pkey PRIMARY KEY (host_id, infra_env_id);

ALTER TABLE ONLY public.host_reports
    ADD CONSTRAINT host_reports_pkey PRIMARY KEY (host_id, infra_env_id);

ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (id, infra_env_id);

ALTER TABLE ONLY public.infra_envs
    ADD CONSTRAINT infra_envs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.kube_objects
    ADD CONSTRAINT kube_objects_pkey PRIMARY KEY (resource, namespace, name);

ALTER TABLE ONLY public.kube_owners
    ADD CONSTRAINT kube_owners_pkey PRIMARY KEY (owner_uid, resource, namespace, name);

ALTER TABLE ONLY public.kube_revision
    ADD CONSTRAINT kube_revision_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.kube_versions
    ADD CONSTRAINT kube_versions_pkey PRIMARY KEY (revision);

ALTER TABLE ONLY public.log_chunks
    ADD CONSTRAINT log_chunks_pkey PRIMARY KEY (log_id, number);

ALTER TABLE ONLY public.logs
    ADD CONSTRAINT logs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (kind, key);

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);

CREATE INDEX cluster_members_by_cluster ON public.cluster_members USING btree (cluster_id, host_id);

CREATE UNIQUE INDEX clusters_by_kube ON public.clusters USING btree (kube_namespace, kube_name) WHERE ((deleted_at IS NULL) AND (kube_name IS NOT NULL));

CREATE INDEX events_by_cluster ON public.events USING btree (cluster_id, at, id);

CREATE INDEX events_by_host ON public.events USING btree (host_id, at, id);

CREATE INDEX events_by_infra_env ON public.events USING btree (infra_env_id, at, id);

CREATE INDEX events_by_time ON public.events USING btree (at, id);

CREATE INDEX host_history_by_host ON public.host_history USING btree (host_id, infra_env_id, version);

CREATE INDEX hosts_by_cluster ON public.hosts USING btree (cluster_id) WHERE (deleted_at IS NULL);

CREATE INDEX hosts_by_deadline ON public.hosts USING btree (due_at) WHERE ((deleted_at IS NULL) AND (due_at IS NOT NULL));

CREATE INDEX hosts_by_infra_env ON public.hosts USING btree (infra_env_id);

CREATE UNIQUE INDEX infra_envs_by_boot_id ON public.infra_envs USING btree (boot_id);

CREATE INDEX infra_envs_by_cluster ON public.infra_envs USING btree (cluster_id) WHERE (deleted_at IS NULL);

CREATE UNIQUE INDEX infra_envs_by_kube ON public.infra_envs USING btree (kube_namespace, kube_name) WHERE ((deleted_at IS NULL) AND (kube_name IS NOT NULL));

CREATE INDEX kube_owners_by_object ON public.kube_owners USING btree (resource, namespace, name);

CREATE INDEX kube_versions_by_object ON public.kube_versions USING btree (resource, namespace, name, revision);

CREATE INDEX logs_by_cluster ON public.logs USING btree (cluster_id, host_id);

CREATE INDEX logs_unfinished ON public.logs USING btree (created_at) WHERE (completed_at IS NULL);

CREATE INDEX outbox_by_age ON public.outbox USING btree (created_at);

CREATE UNIQUE INDEX outbox_by_id ON public.outbox USING btree (id);

ALTER TABLE ONLY public.cluster_members
    ADD CONSTRAINT cluster_members_host_id_infra_env_id_fkey FOREIGN KEY (host_id, infra_env_id) REFERENCES public.hosts(id, infra_env_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.host_bootstrap_data
    ADD CONSTRAINT host_bootstrap_data_host_id_infra_env_id_fkey FOREIGN KEY (host_id, infra_env_id) REFERENCES public.hosts(id, infra_env_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.host_inventories
    ADD CONSTRAINT host_inventories_host_id_infra_env_id_fkey FOREIGN KEY (host_id, infra_env_id) REFERENCES public.hosts(id, infra_env_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.host_reports
    ADD CONSTRAINT host_reports_host_id_infra_env_id_fkey FOREIGN KEY (host_id, infra_env_id) REFERENCES public.hosts(id, infra_env_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT hosts_infra_env_id_fkey FOREIGN KEY (infra_env_id) REFERENCES public.infra_envs(id);

ALTER TABLE ONLY public.log_chunks
    ADD CONSTRAINT log_chunks_log_id_fkey FOREIGN KEY (log_id) REFERENCES public.logs(id) ON DELETE CASCADE;
