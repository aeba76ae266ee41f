-- Kernels as PyTorch, cuBLAS, CUTLASS, JAX and Numba call them: what tables of any width make of their names.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', 'train');
INSERT INTO api (id, name, class) VALUES (1, 'cudaLaunchKernel', 'launch'), (2, 'cuLaunchKernel', 'launch'), (3, 'cudaStreamSynchronize', 'sync'), (4, 'cudaMemcpyAsync', 'copy');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'train', 0, 1000000000, 'exit', 0, 'cupti');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'train', 20);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO device (id, process, device, name, cc_major, cc_minor, multiprocessors) VALUES (1, 1, 0, 'NVIDIA A100-SXM4-80GB', 8, 0, 108);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
INSERT INTO kernel (id, process, number, name) VALUES
    (1, 1, 1, 'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)'),
    (2, 1, 2, 'void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul>)'),
    (3, 1, 3, 'void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >, std::array<char*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >, std::array<char*, 3ul>)'),
    (4, 1, 4, 'void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)'),
    (5, 1, 5, 'void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)'),
    (6, 1, 6, 'void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int, float, 4>)'),
    (7, 1, 7, 'sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas'),
    (8, 1, 8, 'sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas'),
    (9, 1, 9, 'void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8::Params)'),
    (10, 1, 10, 'input_concatenate_reduce_fusion_3'),
    (11, 1, 11, 'cudapy::__main__::add_kernel[abi:v1][abi:cw51cXTLSUwv1sDUaKthqaNgSwZ2VokbGnoDk1AJGBH4oygkgEhE](Array<float, 1, C, mutable, aligned>, Array<float, 1, C, mutable, aligned>)');
INSERT INTO gpu_name SELECT id, 1, id, name, name FROM kernel;
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers) SELECT id, 1, id, id, 216 * id, 1, 1, 256, 1, 1, 32 FROM kernel;
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, kernel) SELECT id, 1, CASE WHEN id < 10 THEN 1 ELSE 2 END, 100000000 + id * 50000000, CASE id WHEN 5 THEN 30000000 ELSE 5000 END, 0, 1, 1, id FROM kernel;
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context) VALUES (20, 1, 3, 900000000, 50000000, 0, 1, 1);
INSERT INTO gpu_op SELECT id, 1, 1, id, start_ns + CASE id WHEN 5 THEN 31000000 ELSE 10000 END, 40000000 - id * 1000000, id, NULL, NULL, NULL, NULL FROM call WHERE api < 3;
INSERT INTO stack VALUES (1, 1, 1);
INSERT INTO call_stack VALUES (5, 1), (9, 1);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES
    (1, 0, 'python', 'forward_with_cached_attention', NULL, '/home/u/projects/language/models/transformer_layers.py', 131, NULL), (1, 1, 'python', 'main', NULL, '/home/u/train.py', 88, NULL);
INSERT INTO stall_advice VALUES (1, 'Load it before the loop: call torch.tanh once on a tiny tensor.');
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, drained_count, drained_ns, confidence, advice) VALUES
    (1, 5, 'lazy-load', 0, 0, 29900000, 100000, 4, 1, 36000000, 'measured', 1),
    (2, 9, 'lazy-load', 0, 0, 3000000, 100000, 8, 1, 32000000, 'measured', NULL);
