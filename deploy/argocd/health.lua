-- The health of one of Muster's objects, for Argo CD: by the conditions Stalled, Reconciling, Paused and Ready (docs/custom-resources.md#health-for-gitops).
local waits = {status = "Progressing", message = "Waits for Muster"}
local status = obj.status
if status == nil or status.conditions == nil then
  return waits
end
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return waits
end
local found = {}
for _, condition in ipairs(status.conditions) do
  found[condition.type] = condition
end
local function holds(type, is)
  return found[type] ~= nil and found[type].status == is
end
if obj.metadata.deletionTimestamp ~= nil then
  return {status = "Progressing", message = "Is being deleted"}
end
if holds("Stalled", "True") then
  return {status = "Degraded", message = found.Stalled.message}
end
if holds("Paused", "True") then
  return {status = "Suspended", message = found.Paused.message}
end
if holds("Reconciling", "True") then
  return {status = "Progressing", message = found.Reconciling.message}
end
if found.Ready ~= nil and found.Ready.status ~= "True" then
  return {status = "Progressing", message = found.Ready.message}
end
return {status = "Healthy"}
