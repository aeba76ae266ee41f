-- name: devices
SELECT device, name, compute_capability, memory_bytes / 1048576 FROM devices ORDER BY device LIMIT 16;

-- name: gpu_side
SELECT gpu, gpu_why, cupti_version, cupti_library,
    EXISTS (SELECT 1 FROM device WHERE name GLOB 'GV_SIM *')
FROM process ORDER BY id LIMIT 1;
